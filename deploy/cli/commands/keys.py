"""`callboard keys`: creates, lists and revokes API keys. With the database alone, the first one is made."""

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deploy.cli.exits import EXIT_CODES_HELP, NOT_FOUND, Failure
from deploy.cli.options import JsonOption

if TYPE_CHECKING:
    from rich.table import Table

group = typer.Typer(invoke_without_command=True, epilog=EXIT_CODES_HELP)


@group.callback()
def keys(context: typer.Context, as_json: JsonOption = False) -> None:
    """Create, list and revoke the keys of the HTTP API.

    \b
    Examples:
      callboard keys create ops --role operator
      callboard keys
      callboard keys revoke ck_019aa0c5a2f07d2f9d0cb0e3a6b3c001
    """
    if context.invoked_subcommand is None:
        list_keys(as_json=as_json)


@group.command("create", epilog=EXIT_CODES_HELP)
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who uses it; the history of tasks shows it.")],
    role: Annotated[str, typer.Option(help="reader, submitter or operator; each may do what those before it may.")],
    tenant: Annotated[
        str | None, typer.Option(help="The key sees and changes only what belongs to this tenant. Default: all.")
    ] = None,
    rate_limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Requests a minute, at each server process. Default: any.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Create a key, and print it. It is stored as a hash: nobody can print it again.

    From the first key on, the servers ask everybody for one, within 5 seconds.

    \b
    Examples:
      callboard keys create ops --role operator
      callboard keys create shop --role submitter --tenant acme --rate-limit 600
      key=$(callboard keys create ci --role submitter)
      callboard keys create ci --role submitter --json | jq -r .key
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_json

    body = {"name": name, "role": role, "tenant": tenant, "rate_limit": rate_limit}
    with open_client() as client:
        created = client.request("POST", f"{API}/keys", json=body)
    if as_json:
        print_json(created)
        return
    typer.echo(created["key"])
    belongs = "all tenants" if tenant is None else f"tenant {tenant}"
    typer.echo(f"{created['key_id']}: {role}, {belongs}. Keep the key: it is not shown again.", err=True)


@group.command("list", epilog=EXIT_CODES_HELP)
def list_keys(as_json: JsonOption = False) -> None:
    """List the keys, newest first; revoked ones as well.

    \b
    Examples:
      callboard keys list
      callboard keys list --json | jq '.items[] | select(.revoked_at == null and .last_used_at == null)'
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_rows

    with open_client() as client:
        rows = list(client.pages(f"{API}/keys"))
    print_rows(rows, _tabulate, if_empty="No keys: programs of this machine need none.", as_json=as_json)


@group.command("revoke", epilog=EXIT_CODES_HELP)
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="The key's id (ck_...), not the key.")],
    last: Annotated[
        bool, typer.Option("--last", help="Also the last operator's key without a tenant: none is left over HTTP.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Revoke a key, for good. The servers refuse it, and end its streams, within 5 seconds.

    \b
    Examples:
      callboard keys revoke ck_019aa0c5a2f07d2f9d0cb0e3a6b3c001
    """
    from urllib.parse import quote

    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_json

    if last:
        _revoke_last(key_id)
    try:
        with open_client() as client:
            client.request("DELETE", f"{API}/keys/{quote(key_id, safe='')}")
            [revoked] = [key for key in client.pages(f"{API}/keys") if key["key_id"] == key_id] if as_json else [None]
    except Failure as failure:
        if failure.exit_code == NOT_FOUND:
            raise Failure(NOT_FOUND, f"{failure} `callboard keys` shows their ids.") from failure
        raise
    if as_json:
        print_json(revoked)
    else:
        typer.echo(f"{key_id} is revoked.")


def _revoke_last(key_id: str) -> None:
    """The API keeps the last operator's key: only who has the database itself may leave it without one."""
    from deploy.cli.person import find_person
    from deploy.cli.store import open_store
    from state.access.keys import revoke_key
    from state.errors import KeyNotFound

    with open_store(), suppress(KeyNotFound):  # the request that follows says so
        revoke_key(key_id, last=True, caller=find_person())


def _tabulate(rows: list[dict[str, Any]]) -> "Table":
    from datetime import datetime

    from rich.text import Text

    from deploy.cli.output import format_relative, sanitize, start_table

    def tell(moment: str | None, otherwise: str) -> str:
        return otherwise if moment is None else format_relative(datetime.fromisoformat(moment))

    table = start_table()
    for heading in ("Key", "Role"):
        table.add_column(heading, no_wrap=True)
    for heading in ("Name", "Tenant"):
        table.add_column(heading, overflow="fold")
    table.add_column("Rate", justify="right", no_wrap=True)
    for heading in ("Created", "Last used", "Revoked"):
        table.add_column(heading, no_wrap=True)
    for row in rows:
        table.add_row(
            row["key_id"],
            row["role"],
            Text(sanitize(row["name"])),
            Text("all" if row["tenant"] is None else sanitize(row["tenant"])),
            "" if row["rate_limit"] is None else f"{row['rate_limit']}/min",
            tell(row["created_at"], ""),
            tell(row["last_used_at"], "never"),
            tell(row["revoked_at"], ""),
        )
    return table
