"""`callboard pause`, `resume`, `retry`: what a task is to do next."""

from typing import TYPE_CHECKING, Annotated

import typer

from deploy.cli.exits import BAD_INPUT, Failure
from deploy.cli.options import JsonOption, TaskId

if TYPE_CHECKING:
    from state import Task


def pause(task_id: TaskId, as_json: JsonOption = False) -> None:
    """Pause a task.

    At once when nobody runs it; otherwise its worker is asked to stop, and the task is paused when it has. What it has
    saved is kept. A task that has ended cannot be paused (exit code 4).

    \b
    Examples:
      callboard pause tq_0199b2…
    """
    import state
    from deploy.cli.store import open_store

    with open_store():
        task = state.pause(task_id)
    _tell(task, as_json)


def resume(task_id: TaskId, as_json: JsonOption = False) -> None:
    """Let a paused or dead task go on, from what it has saved.

    \b
    Examples:
      callboard resume tq_0199b2…
      callboard resume tq_0199b2… && callboard watch tq_0199b2…
    """
    import state
    from deploy.cli.store import open_store

    with open_store():
        task = state.resume(task_id)
    _tell(task, as_json)


def retry(
    task_id: TaskId,
    payload: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="Instead of the original: JSON, @file, or - for stdin.", show_default=False),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Changes one field of the payload, as in `submit`."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run a dead task, or one that waits for its retry, again now.

    With another payload it starts over; the original stays in the task's history.

    \b
    Examples:
      callboard retry tq_0199b2…
      callboard retry tq_0199b2… --set params.width=512
      callboard retry tq_0199b2… --payload @corrected.json
    """
    import state
    from deploy.cli.payloads import read_payload
    from deploy.cli.store import open_store
    from state import jsonsafe
    from state.tasks.catalog import load_actors

    with open_store():
        body = None
        if payload is not None or assignments:
            original = jsonsafe.dump(state.get_task(task_id).payload)
            body = read_payload(original if payload is None else payload, assignments or [])
            try:
                load_actors()
            except ImportError as missing:
                raise Failure(BAD_INPUT, f"CALLBOARD_ACTORS names what cannot be imported: {missing}.") from missing
        task = state.retry(task_id, body)
    _tell(task, as_json)


def _tell(task: "Task", as_json: bool) -> None:
    from deploy.cli.output import print_json, task_json

    if as_json:
        print_json(task_json(task))
    elif task.status == "running":
        typer.echo(
            f"{task.task_id} runs; its worker has been asked to stop. `callboard watch {task.task_id}` shows it."
        )
    else:
        typer.echo(f"{task.task_id} is {task.status}.")
