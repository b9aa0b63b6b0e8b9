"""Arguments and options that several commands share."""

from typing import Annotated

import typer

from deploy.cli.exits import NOT_FOUND, Failure


def _known_form(task_id: str) -> str:
    from state.tasks.ids import is_task_id

    if not is_task_id(task_id):
        raise Failure(
            NOT_FOUND,
            f"There is no task {task_id!r}: an id is tq_ and 32 hexadecimal digits; `callboard list` shows them.",
        )
    return task_id


JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")]
TaskId = Annotated[str, typer.Argument(metavar="TASK_ID", help="The task's id (tq_...).", callback=_known_form)]
TenantOption = Annotated[str | None, typer.Option(help="Only tasks of this tenant.")]
LimitOption = Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")]
BeforeOption = Annotated[str | None, typer.Option(metavar="TASK_ID", help="Go on after this one, the last of a page.")]
