"""Arguments and options that several commands share."""

import re
from datetime import UTC, datetime
from typing import Annotated

import typer

from deploy.cli.exits import NOT_FOUND, Failure

# The names of `state.tasks.priorities`, repeated because importing `state` would slow down every `--help`.
PRIORITIES = ("critical", "high", "medium", "low")


def check_id(text: str, prefix: str, noun: str, command: str) -> str:
    """Tells a typing error without asking the server."""
    if not re.fullmatch(rf"{prefix}_[0-9a-f]{{32}}", text):
        message = f"There is no {noun} {text!r}: an id is {prefix}_ and 32 hexadecimal digits"
        raise Failure(NOT_FOUND, f"{message}; `callboard {command}` shows them.")
    return text


def _check_task_id(task_id: str) -> str:
    return check_id(task_id, "tq", "task", "list")


def parse_priority(text: str) -> int:
    names = {**{name: number for number, name in enumerate(PRIORITIES)}, **{str(n): n for n in range(len(PRIORITIES))}}
    if text not in names:
        words = f"{', '.join(PRIORITIES[:-1])} or {PRIORITIES[-1]}"
        raise typer.BadParameter(f"must be 0 (first) to {len(PRIORITIES) - 1}, or {words}")
    return names[text]


def read_moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter("expected a date or a moment in ISO 8601, such as 2030-01-31T08:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")]
TaskId = Annotated[str, typer.Argument(metavar="TASK_ID", help="The task's id (tq_...).", callback=_check_task_id)]
ActorOption = Annotated[str | None, typer.Option(help="Only tasks of this actor.")]
PriorityOption = Annotated[
    int | None,
    typer.Option(
        parser=parse_priority,
        metavar="PRIORITY",
        help="0 (starts first) to 3, or critical, high, medium, low. Default: the agent's own; else 2.",
        show_default=False,
    ),
]
AgentOption = Annotated[str | None, typer.Option("--agent", help="Only tasks of this agent.")]
TaskTypeOption = Annotated[str | None, typer.Option(help="Only tasks of this type of an agent.")]
TenantOption = Annotated[str | None, typer.Option(help="Only those of this tenant.")]
LimitOption = Annotated[int, typer.Option(min=1, max=1000, help="The largest number of rows to print.")]
BeforeOption = Annotated[
    str | None,
    typer.Option(metavar="CURSOR", help="Continue after a page: its `next_cursor`.", show_default=False),
]
