"""`callboard gates`: shows the gates, and changes them at run time."""

from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deploy.cli.exits import BAD_INPUT, EXIT_CODES_HELP, NOT_FOUND, Failure
from deploy.cli.options import JsonOption

if TYPE_CHECKING:
    from rich.table import Table

    from taskclient import Client

_YEAR = 365 * 86400.0
_NONE = "none"

group = typer.Typer(invoke_without_command=True, epilog=EXIT_CODES_HELP)


@group.callback()
def gates(context: typer.Context, as_json: JsonOption = False) -> None:
    """Show the gates and their waiting tasks; change a gate.

    \b
    Examples:
      callboard gates
      callboard gates --json | jq '.items[] | select(.waiting > 0)'
      callboard gates show provider:leonardo
      callboard gates set provider:leonardo --max-concurrent 5
    """
    if context.invoked_subcommand is not None:
        return
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_rows

    with open_client() as client:
        rows = list(client.pages(f"{API}/gates"))
    print_rows(rows, tabulate, if_empty="No gates.", as_json=as_json)


@group.command("set", epilog=EXIT_CODES_HELP)
def set_gate(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The gate, such as provider:leonardo or tenant:acme.")],
    max_concurrent: Annotated[
        str | None, typer.Option(metavar="N", help="Tasks that may run at once; 0: none may start; none: no limit.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="COUNT/SECONDS", help="So many starts in so many seconds; none: no limit.")
    ] = None,
    paused: Annotated[
        bool | None, typer.Option("--pause/--resume", help="Let no task start, or let them start again.")
    ] = None,
    close_for: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0, max=_YEAR, help="Close it for so many seconds; 0: open it now."),
    ] = None,
    breaker_threshold: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Failures of all results that open it: 0.5; none: no breaker.")
    ] = None,
    breaker_volume: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The fewest results from which the breaker decides.")
    ] = None,
    breaker_window: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="It counts the results of so many seconds.")
    ] = None,
    breaker_seconds: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="It stays open so long before a probe.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Change a gate. Options that are not given stay as they are.

    The change applies to the next start of a task, in all processes; running tasks go on. A deploy does not undo it.

    \b
    Examples:
      callboard gates set provider:leonardo --max-concurrent 5
      callboard gates set provider:midjourney --rate 10/60
      callboard gates set tenant:acme --max-concurrent none
      callboard gates set queue:media --pause
      callboard gates set provider:leonardo --close-for 300 --json
      callboard gates set provider:leonardo --breaker-threshold 0.3 --breaker-seconds 120
    """
    from deploy.cli.connection import open_client

    changes = _read_changes(max_concurrent, rate, paused, close_for)
    changes |= _read_breaker(breaker_threshold, breaker_volume, breaker_window, breaker_seconds)
    if not changes:
        raise Failure(BAD_INPUT, "Nothing to change: give --max-concurrent, --rate, --pause or another option.")
    with open_client() as client:
        row = request_gate(client, "PUT", key, json=changes)
    _print_gate(row, as_json)


@group.command("reset", epilog=EXIT_CODES_HELP)
def reset(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The gate.")],
    as_json: JsonOption = False,
) -> None:
    """Give a gate the limit, rate and breaker that the code declares. A pause stays.

    \b
    Examples:
      callboard gates reset provider:leonardo
    """
    from deploy.cli.connection import open_client

    with open_client() as client:
        row = request_gate(client, "POST", key, "/reset")
    _print_gate(row, as_json)


def request_gate(client: "Client", method: str, key: str, verb: str = "", json: Any = None) -> dict[str, Any]:
    from urllib.parse import quote

    from deploy.cli.connection import API
    from taskclient import NotFound

    try:
        row: dict[str, Any] = client.request(method, f"{API}/gates/{quote(key)}{verb}", json=json)
    except NotFound as missing:
        raise Failure(NOT_FOUND, f"{missing.detail} `callboard gates` shows them.") from missing
    return row


def _print_gate(row: dict[str, Any], as_json: bool) -> None:
    from deploy.cli.output import open_console, print_json

    if as_json:
        print_json(row)
    else:
        open_console().print(tabulate([row]))


def _read_changes(
    max_concurrent: str | None, rate: str | None, paused: bool | None, close_for: float | None
) -> dict[str, Any]:
    from datetime import UTC, datetime, timedelta

    changes: dict[str, Any] = {}
    if max_concurrent is not None:
        changes["max_concurrent"] = _parse_limit(max_concurrent)
    if rate is not None:
        changes["rate_count"], changes["rate_seconds"] = _parse_rate(rate)
    if paused is not None:
        changes["paused"] = paused
    if close_for is not None:
        until = datetime.now(UTC) + timedelta(seconds=close_for)
        changes["closed_until"] = until.isoformat() if close_for else None
    return changes


def _read_breaker(
    threshold: str | None, volume: int | None, window: float | None, seconds: float | None
) -> dict[str, Any]:
    given = {"breaker_volume": volume, "breaker_window": window, "breaker_seconds": seconds}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if threshold is not None:
        try:
            share = None if threshold == _NONE else float(threshold)
            if share is not None and not isfinite(share):
                raise ValueError
            changes["breaker_threshold"] = share
        except ValueError:
            message = f"--breaker-threshold: {threshold!r} is neither a number nor `none`."
            raise Failure(BAD_INPUT, message) from None
    return changes


def _parse_limit(text: str) -> int | None:
    try:
        return None if text == _NONE else int(text)
    except ValueError:
        raise Failure(BAD_INPUT, f"--max-concurrent: {text!r} is neither a whole number nor `none`.") from None


def _parse_rate(text: str) -> tuple[int | None, float | None]:
    if text == _NONE:
        return None, None
    count, _, seconds = text.partition("/")
    try:
        if isfinite(float(seconds)):
            return int(count), float(seconds)
    except ValueError:
        pass
    raise Failure(BAD_INPUT, f"--rate: {text!r} is not COUNT/SECONDS, such as 10/60, nor `none`.")


def tabulate(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import sanitize, start_table

    table = start_table()
    table.add_column("Gate", overflow="fold")
    for heading in ("Limit", "Running", "Waiting"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("Rate", no_wrap=True)
    table.add_column("Breaker", no_wrap=True)
    table.add_column("", overflow="fold")
    for row in rows:
        rate = "" if row["rate_count"] is None else f"{row['rate_count']}/{row['rate_seconds']:g} s"
        table.add_row(
            Text(sanitize(row["key"])),
            _format_limit(row),
            str(row["running"]),
            str(row["waiting"]),
            rate,
            "" if row["breaker_threshold"] is None else row["breaker_state"].replace("_", "-"),
            Text(_format_closed(row), style="yellow"),
        )
    return table


def _format_limit(row: dict[str, Any]) -> str:
    """The limit, and the one declared in code if an operator has changed it."""
    limit, declared = row["max_concurrent"], row["declared_concurrent"]
    text = "-" if limit is None else str(limit)
    return text if limit == declared else f"{text} (code: {'-' if declared is None else declared})"


def _format_closed(row: dict[str, Any]) -> str:
    from datetime import UTC, datetime

    from deploy.cli.output import format_relative, parse_moment

    if row["paused"]:
        return "paused"
    until = row["closed_until"]
    return f"opens {format_relative(until)}" if until is not None and parse_moment(until) > datetime.now(UTC) else ""
