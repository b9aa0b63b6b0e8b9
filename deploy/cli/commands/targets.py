"""`callboard targets`: which targets stand still, and the tasks of one."""

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from deploy.cli.exits import EXIT_CODES_HELP
from deploy.cli.options import BeforeOption, JsonOption, LimitOption, TaskId

if TYPE_CHECKING:
    from rich.table import Table

group = typer.Typer(no_args_is_help=True, epilog=EXIT_CODES_HELP)
Target = Annotated[str, typer.Argument(metavar="TARGET", help="The target, as given at submit.")]
TenantOption = Annotated[str | None, typer.Option(help="The tenant of the target; part of its identity.")]


@group.callback()
def targets() -> None:
    """Show targets, which run one task at a time, and let them go on.

    \b
    Examples:
      callboard targets list --blocked
      callboard targets show printer-1
      callboard targets resume printer-1 tq_0199b2…
      callboard targets clear printer-1 tq_0199b2…
    """


@group.command("list", epilog=EXIT_CODES_HELP)
def list_all(
    blocked: Annotated[
        bool | None, typer.Option("--blocked/--moving", help="Only those that wait for a person, or the others.")
    ] = None,
    tenant: Annotated[str | None, typer.Option(help="Only those of this tenant.")] = None,
    limit: LimitOption = 100,
    before: BeforeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the targets that have unfinished tasks: which task holds each, and since when.

    \b
    Examples:
      callboard targets list --blocked --json | jq -r '.items[].target'
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_page
    from deploy.cli.pages import fetch

    with open_client() as client:
        found = fetch(client, f"{API}/targets", limit=limit, cursor=before, blocked=blocked, tenant=tenant)
    print_page(found, _tabulate, command="targets list", if_empty="No targets.", as_json=as_json)


@group.command("show", epilog=EXIT_CODES_HELP)
def show(
    target: Target,
    tenant: TenantOption = None,
    limit: LimitOption = 20,
    before: BeforeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the unfinished tasks of a target in the order in which they run.

    \b
    Examples:
      callboard targets show printer-1 --tenant acme
    """
    from deploy.cli.commands.list import tabulate_tasks
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_page
    from deploy.cli.pages import fetch

    with open_client() as client:
        found = fetch(client, f"{API}/targets/{quote(target)}", limit=limit, cursor=before, tenant=tenant)
    command = f"targets show {target}"
    print_page(found, tabulate_tasks, command=command, if_empty="No unfinished tasks.", as_json=as_json)


@group.command("resume", epilog=EXIT_CODES_HELP)
def resume(target: Target, task_id: TaskId, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Let the paused or dead task that blocks a target continue.

    \b
    Examples:
      callboard targets resume printer-1 tq_0199b2…
    """
    _act(target, task_id, "resume", tenant, as_json)


@group.command("clear", epilog=EXIT_CODES_HELP)
def clear(target: Target, task_id: TaskId, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Cancel a task of a target, so that the next one may start.

    \b
    Examples:
      callboard targets clear printer-1 tq_0199b2…
    """
    _act(target, task_id, "clear", tenant, as_json)


def _act(target: str, task_id: str, verb: str, tenant: str | None, as_json: bool) -> None:
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_new_status
    from taskclient import Task

    path = f"{API}/targets/{quote(target)}/jobs/{task_id}/{verb}"
    with open_client() as client:
        task = Task.model_validate(client.request("POST", path, params={"tenant": tenant}))
    print_new_status(task, as_json=as_json)


def _tabulate(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import format_relative, format_status, sanitize, start_table

    table = start_table()
    for heading in ("Target", "Tenant"):
        table.add_column(heading, overflow="fold")
    for heading in ("Held by", "Status", "Since"):
        table.add_column(heading, no_wrap=True)
    table.add_column("Waiting", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for row in rows:
        table.add_row(
            Text(sanitize(row["target"])), Text(sanitize(row["tenant"] or "-")), row["task_id"],
            format_status(row["status"]), format_relative(row["since"]), str(row["waiting"]),
            Text("blocked", style="bold red") if row["blocked"] else "",
        )  # fmt: skip
    return table
