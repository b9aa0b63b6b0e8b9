"""`callboard cancel`: stops a task."""

from typing import Annotated

import typer

from deploy.cli.options import JsonOption, TaskId


def cancel(
    task_id: TaskId,
    force: Annotated[
        bool, typer.Option("--force", help="If the task's code does not stop, its worker process is killed.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Cancel a task.

    A task that is not running is canceled at once. A running one is canceled when its worker has stopped it. A task
    that has ended cannot be canceled (exit code 4).

    \b
    Examples:
      callboard cancel tq_0199b2…
      callboard cancel tq_0199b2… --force   # other tasks of the same process go back to their queue
      callboard cancel tq_0199b2… && callboard watch tq_0199b2…   # wait until it has stopped
    """
    from deploy.cli.connection import open_client
    from deploy.cli.output import print_new_status

    with open_client() as client:
        task = client.cancel(task_id, force=force)
    print_new_status(task, as_json=as_json)
