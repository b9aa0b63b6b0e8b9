"""`callboard profile`: the servers that this person uses, by name."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from deploy.cli.exits import EXIT_CODES_HELP
from deploy.cli.options import JsonOption

if TYPE_CHECKING:
    from rich.table import Table

group = typer.Typer(no_args_is_help=True, epilog=EXIT_CODES_HELP)
Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the profile.")]


@group.callback()
def profile() -> None:
    """Keep addresses and keys of servers in a file that only you can read.

    The file is ~/.config/callboard/profiles.toml (or in XDG_CONFIG_HOME).

    \b
    Examples:
      callboard profile add work https://callboard.example.org --with-key
      callboard --profile work list
      export CALLBOARD_PROFILE=work
    """


@group.command("add", epilog=EXIT_CODES_HELP)
def add(
    name: Name,
    url: Annotated[str, typer.Argument(metavar="URL", help="The address of the server.")],
    with_key: Annotated[
        bool, typer.Option("--with-key", help="Ask for a key; without a terminal, read it from stdin.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Add a profile, or replace it. The key is asked for, so that it is in no history of commands.

    \b
    Examples:
      callboard profile add work https://callboard.example.org --with-key
      pass callboard | callboard profile add work https://callboard.example.org --with-key
    """
    import sys

    from deploy.cli.exits import BAD_INPUT, Failure
    from deploy.cli.output import print_json
    from deploy.cli.profiles import Profile, find_file, put_profile
    from taskclient.addresses import Address, InvalidUrl

    key = None
    if with_key:
        key = typer.prompt("Key", hide_input=True, err=True) if sys.stdin.isatty() else sys.stdin.readline().strip()
    try:
        Address.find(url, key)
    except InvalidUrl as wrong:
        raise Failure(BAD_INPUT, str(wrong)) from None
    put_profile(Profile(name, url, key))
    if as_json:
        print_json({"name": name, "url": url, "has_key": key is not None})
    else:
        typer.echo(f"{name} is in {find_file()}.")


@group.command("list", epilog=EXIT_CODES_HELP)
def list_all(as_json: JsonOption = False) -> None:
    """List the profiles. Keys are not shown.

    \b
    Examples:
      callboard profile list
    """
    from deploy.cli.output import print_rows
    from deploy.cli.profiles import read_profiles

    rows = [{"name": each.name, "url": each.url, "has_key": each.key is not None} for each in read_profiles().values()]
    print_rows(rows, _tabulate, if_empty="No profiles.", as_json=as_json)


@group.command("remove", epilog=EXIT_CODES_HELP)
def remove(name: Name, as_json: JsonOption = False) -> None:
    """Remove a profile.

    \b
    Examples:
      callboard profile remove work
    """
    from deploy.cli.output import print_json
    from deploy.cli.profiles import remove_profile

    remove_profile(name)
    if as_json:
        print_json({"name": name, "removed": True})
    else:
        typer.echo(f"{name} is removed.")


def _tabulate(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import sanitize, start_table

    table = start_table()
    for heading in ("Profile", "URL", "Key"):
        table.add_column(heading, no_wrap=True)
    for row in rows:
        table.add_row(row["name"], Text(sanitize(row["url"])), "yes" if row["has_key"] else "no")
    return table
