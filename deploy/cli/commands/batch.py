"""`callboard batch`: submits many tasks from a file of JSON lines."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from deploy.cli.exits import BAD_INPUT, COMMAND_FAILED, Failure
from deploy.cli.options import JsonOption

if TYPE_CHECKING:
    from taskclient import BatchOutcome


def batch(
    file: Annotated[str, typer.Argument(metavar="FILE", help="One JSON object a line; - for stdin.")],
    actor: Annotated[
        str | None, typer.Option(help="Each line is a payload for this actor, not a whole task.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Submit a task for each line of a file.

    A line is {"actor": …, "payload": {…}, …}, as for POST /api/v1/tasks; with --actor it is the payload alone. Prints
    the id of each task, in order. A line that is refused is reported on stderr and does not stop the others; the exit
    code is 1 then. With --json, prints one JSON document {line, status, task_id, problem} for each.

    \b
    Examples:
      callboard batch tasks.jsonl
      jq -c '{prompt: .title}' items.jsonl | callboard batch - --actor media_generation > ids.txt
    """
    from deploy.cli.connection import LONG_PATIENCE, open_client

    refused = 0
    with _open(file) as lines, open_client(actors=True, patience=LONG_PATIENCE) as client:
        numbers: list[int] = []
        outcomes = client.submit_many(_read_tasks(lines, actor, numbers))
        shows_progress = sys.stderr.isatty() and not sys.stdout.isatty()
        for count, outcome in enumerate(outcomes, 1):
            refused += outcome.problem is not None
            _print_outcome(numbers[count - 1], outcome, as_json)
            if shows_progress and count % 100 == 0:
                typer.echo(f"\r{count} tasks", nl=False, err=True)
    if shows_progress:
        typer.echo("\r", nl=False, err=True)
    if refused:
        raise Failure(COMMAND_FAILED, f"{refused} of {count} tasks were refused.")


def _open(file: str) -> BinaryIO:
    if file == "-":
        return sys.stdin.buffer
    try:
        return Path(file).open("rb")
    except OSError as unreadable:
        raise Failure(BAD_INPUT, f"Cannot read {file}: {unreadable.strerror}.") from None


def _read_tasks(lines: BinaryIO, actor: str | None, numbers: list[int]) -> Iterator[dict[str, Any]]:
    """Reads as the server takes them: a file may be larger than the memory. `numbers` gets the lines' numbers."""
    from state import jsonsafe

    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            task = jsonsafe.parse(line)
        except jsonsafe.UnsafeJson as wrong:
            raise Failure(BAD_INPUT, f"line {number}: {wrong}") from None
        if not isinstance(task, dict):
            raise Failure(BAD_INPUT, f"line {number}: must be a JSON object.")
        numbers.append(number)
        yield task if actor is None else {"actor": actor, "payload": task}


def _print_outcome(line: int, outcome: "BatchOutcome", as_json: bool) -> None:
    from deploy.cli.output import print_json_line, sanitize

    problem = outcome.problem
    if as_json:
        print_json_line({"line": line, "status": outcome.status, "task_id": outcome.task_id, "problem": problem})
    elif problem is None:
        print(outcome.task_id)
    else:
        typer.echo(f"line {line}: {sanitize(problem.get('detail'))}", err=True)
