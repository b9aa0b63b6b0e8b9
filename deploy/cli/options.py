"""Arguments and options that several commands share."""

from typing import Annotated

import typer

from deploy.cli.exits import NOT_FOUND, Failure


def _check_task_id(task_id: str) -> str:
    from state.tasks.ids import is_task_id

    if not is_task_id(task_id):
        raise Failure(
            NOT_FOUND,
            f"There is no task {task_id!r}: an id is tq_ and 32 hexadecimal digits; `callboard list` shows them.",
        )
    return task_id


def _parse_priority(text: str) -> int:
    from state.tasks.priorities import parse_priority

    try:
        return parse_priority(int(text) if text.isdecimal() and text.isascii() else text)
    except ValueError as refused:
        raise typer.BadParameter(str(refused)) from None


JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")]
TaskId = Annotated[str, typer.Argument(metavar="TASK_ID", help="The task's id (tq_...).", callback=_check_task_id)]
ActorOption = Annotated[str | None, typer.Option(help="Only tasks of this actor.")]
PriorityOption = Annotated[
    int | None,
    typer.Option(
        parser=_parse_priority,
        metavar="PRIORITY",
        help="0 (starts first) to 3, or critical, high, medium, low. Default: the agent's own; else 2.",
        show_default=False,
    ),
]
AgentOption = Annotated[str | None, typer.Option("--agent", help="Only tasks of this agent.")]
TaskTypeOption = Annotated[str | None, typer.Option(help="Only tasks of this type of an agent.")]
TenantOption = Annotated[str | None, typer.Option(help="Only those of this tenant.")]
LimitOption = Annotated[int, typer.Option(min=1, max=1000, help="The largest number of tasks to print.")]
BeforeOption = Annotated[
    str | None, typer.Option(metavar="TASK_ID", help="Continue after this task, the last one of the page before.")
]
