"""`callboard gates show`: how one gate is used, who holds it, who waits, and what was changed."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from deploy.cli.commands.gates import group, request_gate, tabulate
from deploy.cli.exits import EXIT_CODES_HELP
from deploy.cli.options import JsonOption

if TYPE_CHECKING:
    from rich.table import Table

_BARS = "▁▂▃▄▅▆▇█"


@group.command("show", epilog=EXIT_CODES_HELP)
def show(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The gate, such as provider:leonardo or target:acme/site.")],
    limit: Annotated[int, typer.Option(min=1, max=500, help="The most holders, waiting tasks and changes.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """Show a gate: its use over the last hour, who holds it, who waits, and the last changes.

    \b
    Examples:
      callboard gates show provider:leonardo
      callboard gates show provider:leonardo --json | jq '.holders[].task_id'
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import open_console, print_json

    with open_client() as client:
        gate = request_gate(client, "GET", key)

        def read(name: str, **more: Any) -> list[dict[str, Any]]:
            items: list[dict[str, Any]] = client.request("GET", f"{API}/gate-{name}", params={"gate": key, **more})[
                "items"
            ]
            return items

        found = {name: read(name, limit=limit) for name in ("holders", "waiters", "changes")}
        samples = read("samples")
    if as_json:
        print_json({"gate": gate, "samples": samples, **found})
        return
    console = open_console()
    console.print(tabulate([gate]))
    if samples:
        print(f"\nLast hour, most at once {max(each['running'] for each in samples)}: {_draw(samples)}")
    for name, title, make_table in (
        ("holders", "Holders", _tabulate_holders),
        ("waiters", "Waiting", _tabulate_waiters),
        ("changes", "Changes", _tabulate_changes),
    ):
        if found[name]:
            print(f"\n{title}")
            console.print(make_table(found[name]))


def _draw(samples: list[dict[str, Any]]) -> str:
    """The most that ran in each minute, as bars."""
    from datetime import UTC, datetime

    from deploy.cli.output import parse_moment

    minutes = [0] * 60
    for each in samples:
        age = (datetime.now(UTC) - parse_moment(each["at"])).total_seconds()
        place = min(59, max(0, 59 - int(age // 60)))
        minutes[place] = max(minutes[place], each["running"])
    top = max(minutes) or 1
    return "".join(_BARS[round(value / top * (len(_BARS) - 1))] for value in minutes)


def _tabulate_holders(rows: list[dict[str, Any]]) -> "Table":
    return _tabulate(rows, {"Task": "task_id", "Actor": "actor", "Worker": "worker_id"}, {"Since": "since"})


def _tabulate_waiters(rows: list[dict[str, Any]]) -> "Table":
    from deploy.cli.output import format_duration

    for row in rows:
        eta = row["eta_seconds"]
        row["eta"] = "-" if eta is None else f"about {format_duration(eta)}"
    columns = {"Place": "position", "Task": "task_id", "Actor": "actor", "Starts in": "eta"}
    return _tabulate(rows, columns, {"Since": "since"})


def _tabulate_changes(rows: list[dict[str, Any]]) -> "Table":
    for row in rows:
        row["who"] = row["by"] or f"the {row['origin']}"
        row["what"] = ", ".join(f"{name} {old} → {new}" for name, (old, new) in row["changes"].items())
    return _tabulate(rows, {"By": "who", "Change": "what"}, {"When": "at"})


def _tabulate(rows: list[dict[str, Any]], columns: dict[str, str], moments: dict[str, str]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import format_relative, sanitize, start_table

    table = start_table()
    for heading in (*columns, *moments):
        table.add_column(heading, overflow="fold")
    for row in rows:
        cells = [Text(sanitize(row[name])) for name in columns.values()]
        table.add_row(*cells, *(format_relative(row[name]) for name in moments.values()))
    return table
