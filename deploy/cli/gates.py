"""`callboard gates`: what keeps tasks from starting, and changing it while everything runs."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from deploy.cli.exits import BAD_INPUT, EXIT_CODES, NOT_FOUND, Failure
from deploy.cli.options import JsonOption

if TYPE_CHECKING:
    from rich.table import Table

_YEAR = 365 * 86400.0
_NONE = "none"

group = typer.Typer(invoke_without_command=True, epilog=EXIT_CODES)


@group.callback()
def gates(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the gates: limits, rates, pauses, breakers, and who stands there.

    \b
    Examples:
      callboard gates
      callboard gates --json | jq '.items[] | select(.waiting > 0)'
      callboard gates set provider:leonardo --max-concurrent 5
    """
    if context.invoked_subcommand is not None:
        return
    from deploy.cli.output import console, print_json
    from deploy.cli.store import open_store
    from state.gates.operations import list_gates

    with open_store():
        rows = list_gates()
    if as_json:
        print_json({"items": [_json(row) for row in rows], "next_cursor": None})
    elif not rows:
        typer.echo("No gates.")
    else:
        console().print(_table(rows))


@group.command("set", epilog=EXIT_CODES)
def set_gate(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The gate, such as provider:leonardo or tenant:acme.")],
    max_concurrent: Annotated[
        str | None, typer.Option(metavar="N", help="So many at once; 0: nobody; none: any number.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="COUNT/SECONDS", help="So many starts in so many seconds; none: no rate.")
    ] = None,
    paused: Annotated[bool | None, typer.Option("--pause/--resume", help="Let nobody pass, or let them again.")] = None,
    close_for: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, max=_YEAR, help="Closed for so long; 0: open it now.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Change a gate. What is not named stays as it is.

    It takes effect with the next start of a task, in all processes; what runs goes on. A deploy does not undo it.

    \b
    Examples:
      callboard gates set provider:leonardo --max-concurrent 5
      callboard gates set provider:midjourney --rate 10/60
      callboard gates set tenant:acme --max-concurrent none
      callboard gates set queue:media --pause
      callboard gates set provider:leonardo --close-for 300 --json
    """
    from deploy.cli.output import console, print_json
    from deploy.cli.store import open_store
    from state.errors import GateNotFound
    from state.gates.operations import put_gate

    changes = _changes(max_concurrent, rate, paused, close_for)
    if not changes:
        raise Failure(BAD_INPUT, "Say what to change: --max-concurrent, --rate, --pause, --resume or --close-for.")
    with open_store():
        try:
            row = put_gate(key, **changes)
        except GateNotFound as missing:
            raise Failure(NOT_FOUND, f"{missing} `callboard gates` shows them.") from missing
    if as_json:
        print_json(_json(row))
    else:
        console().print(_table([row]))


def _changes(
    max_concurrent: str | None, rate: str | None, paused: bool | None, close_for: float | None
) -> dict[str, Any]:
    from datetime import UTC, datetime, timedelta

    changes: dict[str, Any] = {}
    if max_concurrent is not None:
        changes["max_concurrent"] = _whole(max_concurrent)
    if rate is not None:
        changes["rate_count"], changes["rate_seconds"] = _rate(rate)
    if paused is not None:
        changes["paused"] = paused
    if close_for is not None:
        changes["closed_until"] = datetime.now(UTC) + timedelta(seconds=close_for) if close_for else None
    return changes


def _whole(text: str) -> int | None:
    try:
        return None if text == _NONE else int(text)
    except ValueError:
        raise Failure(BAD_INPUT, f"--max-concurrent: {text!r} is neither a whole number nor `none`.") from None


def _rate(text: str) -> tuple[int | None, float | None]:
    if text == _NONE:
        return None, None
    count, _, seconds = text.partition("/")
    try:
        return int(count), float(seconds)
    except ValueError:
        raise Failure(BAD_INPUT, f"--rate: {text!r} is not COUNT/SECONDS, such as 10/60, nor `none`.") from None


def _json(row: dict[str, Any]) -> dict[str, Any]:
    import pydantic_core

    document: dict[str, Any] = pydantic_core.to_jsonable_python(row)
    return document


def _table(rows: list[dict[str, Any]]) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from deploy.cli.output import plain

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Gate", overflow="fold")
    for heading in ("Limit", "Running", "Waiting"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("Rate", no_wrap=True)
    table.add_column("Breaker", no_wrap=True)
    table.add_column("", overflow="fold")
    for row in rows:
        rate = "" if row["rate_count"] is None else f"{row['rate_count']}/{row['rate_seconds']:g} s"
        table.add_row(
            Text(plain(row["key"])),
            _limit(row),
            str(row["running"]),
            str(row["waiting"]),
            rate,
            "" if row["breaker_threshold"] is None else row["breaker_state"].replace("_", "-"),
            Text(_closed(row), style="yellow"),
        )
    return table


def _limit(row: dict[str, Any]) -> str:
    """Marked where it is not what the code says."""
    limit, declared = row["max_concurrent"], row["declared_concurrent"]
    text = "-" if limit is None else str(limit)
    return text if limit == declared else f"{text} (code: {'-' if declared is None else declared})"


def _closed(row: dict[str, Any]) -> str:
    from datetime import UTC, datetime

    from deploy.cli.output import relative

    if row["paused"]:
        return "paused"
    until = row["closed_until"]
    return f"opens {relative(until)}" if until is not None and until > datetime.now(UTC) else ""
