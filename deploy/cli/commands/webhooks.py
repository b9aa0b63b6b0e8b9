"""`callboard webhooks`: shows and repeats deliveries, and manages the secrets that they are signed with."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from deploy.cli.exits import EXIT_CODES_HELP
from deploy.cli.options import JsonOption, TaskId

if TYPE_CHECKING:
    from rich.table import Table

group = typer.Typer(no_args_is_help=True, epilog=EXIT_CODES_HELP, help="Show and repeat deliveries; manage secrets.")
secret = typer.Typer(no_args_is_help=True, epilog=EXIT_CODES_HELP, help="The secrets that webhooks are signed with.")
group.add_typer(secret, name="secret")

Tenant = Annotated[str | None, typer.Option(help="Unset: that of your key, or tasks without a tenant.")]


@group.command("list", epilog=EXIT_CODES_HELP)
def list_deliveries(task_id: TaskId, as_json: JsonOption = False) -> None:
    """List the deliveries of a task's events, oldest first.

    \b
    Examples:
      callboard webhooks list tq_0198…
      callboard webhooks list tq_0198… --json | jq '.items[] | select(.status == "dead")'
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_rows

    with open_client() as client:
        rows = list(client.pages(f"{API}/tasks/{task_id}/webhooks"))
    print_rows(rows, _tabulate_deliveries, if_empty="Nothing has been reported yet.", as_json=as_json)


@group.command("replay", epilog=EXIT_CODES_HELP)
def replay(
    task_id: TaskId,
    after: Annotated[int, typer.Option(metavar="N", min=0, help="Only events with a greater number.")] = 0,
    event: Annotated[
        list[int] | None, typer.Option(metavar="N", min=1, help="The number of an event; can be given again.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Send events of a task to its webhook again: all that were chosen at submit, or those with these numbers.

    The receiver gets the same webhook-id as before. A delivery that is dead, or waits for its next attempt, goes on
    now.

    \b
    Examples:
      callboard webhooks replay tq_0198…
      callboard webhooks replay tq_0198… --after 12
      callboard webhooks replay tq_0198… --event 4 --event 9 --json
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_rows

    body = {"events": event} if event else {"after": after}
    with open_client() as client:
        rows = client.request("POST", f"{API}/tasks/{task_id}/webhooks/replay", json=body)["items"]
    print_rows(rows, _tabulate_replayed, if_empty="There is nothing to send.", as_json=as_json)


@secret.command("show", epilog=EXIT_CODES_HELP)
def show(tenant: Tenant = None, as_json: JsonOption = False) -> None:
    """Show the current secret. The first call makes it.

    \b
    Examples:
      callboard webhooks secret show
      callboard webhooks secret show --tenant acme --json | jq -r .secret
    """
    _print_secret("show", {"tenant": tenant}, as_json=as_json)


@secret.command("rotate", epilog=EXIT_CODES_HELP)
def rotate(
    tenant: Tenant = None,
    overlap: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="How long the secret before signs as well; 0: no longer.")
    ] = 24 * 3600.0,
    as_json: JsonOption = False,
) -> None:
    """Replace the secret, and show the new one. Until the overlap has passed, messages are signed with both.

    \b
    Examples:
      callboard webhooks secret rotate
      callboard webhooks secret rotate --tenant acme --overlap 0
    """
    _print_secret("rotate", {"tenant": tenant, "overlap_seconds": overlap}, as_json=as_json)


@secret.command("list", epilog=EXIT_CODES_HELP)
def list_secrets(tenant: Tenant = None, as_json: JsonOption = False) -> None:
    """List the secrets that sign now, without the secrets themselves.

    \b
    Examples:
      callboard webhooks secret list
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_rows

    with open_client() as client:
        rows = client.request("GET", f"{API}/webhook-secrets", params={"tenant": tenant})["items"]
    print_rows(rows, _tabulate_secrets, if_empty="No secrets: the first delivery makes one.", as_json=as_json)


def _print_secret(verb: str, body: dict[str, Any], *, as_json: bool) -> None:
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_json

    with open_client() as client:
        found = client.request("POST", f"{API}/webhook-secrets/{verb}", json=body)
    if as_json:
        print_json(found)
    else:
        typer.echo(found["secret"])


def _tabulate_deliveries(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import format_error, format_relative, format_status, sanitize, start_table

    table = start_table()
    for heading in ("N", "Event", "Delivery", "Status", "Attempt", "Answer", "Next"):
        table.add_column(heading, no_wrap=True)
    table.add_column("Error", overflow="fold")
    for row in rows:
        answer = "-" if row["response_status"] is None else f"{row['response_status']} ({row['duration_ms']} ms)"
        table.add_row(
            str(row["n"]),
            Text(sanitize(row["type"])),
            row["delivery_id"],
            format_status(row["status"]),
            f"{row['attempt']}/{row['max_attempts']}",
            answer,
            format_relative(row["next_attempt_at"]),
            Text(sanitize(format_error(row["error"]), 100), style="red"),
        )
    return table


def _tabulate_replayed(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import format_status, sanitize, start_table

    table = start_table()
    for heading in ("N", "Event", "Delivery", "Status"):
        table.add_column(heading, no_wrap=True)
    for row in rows:
        table.add_row(str(row["n"]), Text(sanitize(row["type"])), row["delivery_id"], format_status(row["status"]))
    return table


def _tabulate_secrets(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import format_relative, sanitize, start_table

    table = start_table()
    table.add_column("Tenant", overflow="fold")
    for heading in ("Created", "Expires"):
        table.add_column(heading, no_wrap=True)
    for row in rows:
        expires = "" if row["expires_at"] is None else format_relative(row["expires_at"])
        tenant = Text(sanitize(row["tenant"] or "(tasks without a tenant)"))
        table.add_row(tenant, format_relative(row["created_at"]), expires)
    return table
