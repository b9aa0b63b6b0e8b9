"""`callboard actors`: lists the kinds of work."""

from typing import TYPE_CHECKING, Any

from deploy.cli.options import JsonOption

if TYPE_CHECKING:
    from rich.table import Table


def actors(as_json: JsonOption = False) -> None:
    """List the actors: what a task can ask for.

    \b
    Examples:
      callboard actors
      callboard actors --json | jq '.items[] | select(.name == "summarize") | .payload_schema'
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_rows

    with open_client(actors=True) as client:
        rows = list(client.pages(f"{API}/actors"))
    print_rows(rows, _tabulate, if_empty="No actors.", as_json=as_json)


def _tabulate(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import sanitize, start_table

    table = start_table()
    for heading in ("Actor", "Queue", "Attempts", "Role"):
        table.add_column(heading, no_wrap=True)
    for heading in ("Payload", ""):
        table.add_column(heading, overflow="fold")
    for row in rows:
        schema = row["payload_schema"]
        required = schema.get("required", [])
        fields = [name if name in required else f"{name}?" for name in schema.get("properties", {})]
        table.add_row(
            Text(sanitize(row["name"])), Text(sanitize(row["queue"])), str(row["max_attempts"]), row["role"],
            Text(sanitize(", ".join(fields))), Text(sanitize(row["description"], 200)),
        )  # fmt: skip
    return table
