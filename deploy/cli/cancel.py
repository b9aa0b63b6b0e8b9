"""`callboard cancel`: stops a task."""

from typing import Annotated

import typer

from deploy.cli.options import JsonOption, TaskId


def cancel(
    task_id: TaskId,
    force: Annotated[bool, typer.Option("--force", help="Code that does not stop loses its process.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Cancel a task.

    At once when nobody runs it; otherwise its worker is asked to stop, and the task is canceled when it has. A task
    that has ended cannot be canceled (exit code 4).

    \b
    Examples:
      callboard cancel tq_0199b2…
      callboard cancel tq_0199b2… --force   # its process is replaced; what else runs in it goes back to the queue
      callboard cancel tq_0199b2… && callboard watch tq_0199b2…   # see that it has stopped
    """
    import state
    from deploy.cli.output import print_json, task_json
    from deploy.cli.store import open_store

    with open_store():
        task = state.cancel(task_id, force=force)
    if as_json:
        print_json(task_json(task))
    elif task.status == "running":
        typer.echo(f"{task_id} runs; its worker has been asked to stop. `callboard watch {task_id}` shows it.")
    else:
        typer.echo(f"{task_id} is {task.status}.")
