"""`callboard watch`: follows a task to its end."""

from typing import TYPE_CHECKING

import typer

from deploy.cli.exits import ENDS, INTERRUPTED
from deploy.cli.options import JsonOption, TaskId

if TYPE_CHECKING:
    from state import Task


def watch(task_id: TaskId, as_json: JsonOption = False) -> None:
    """Watch a task until it ends.

    The exit code says how: 0 completed, 1 dead, 6 canceled. Ctrl-C ends the watching, not the task. A restart of the
    database is waited for. With --json each line is one event of the task, {n, kind, data, at}: first a `snapshot`
    with the whole task, at the end `done`.

    \b
    Examples:
      callboard watch tq_0199b2...
      callboard watch tq_0199b2... --json | jq -r 'select(.kind == "token").data.text'
      callboard watch tq_0199b2... && echo "it is there"
    """
    import state
    from deploy.cli.store import open_store

    with open_store():
        watch_to_the_end(state.get_task(task_id), as_json=as_json)


def watch_to_the_end(task: "Task", *, as_json: bool) -> None:
    from deploy.cli.following import follow
    from deploy.cli.screens import screen_for

    try:
        with screen_for(as_json) as screen:
            end = follow(task, screen)
    except KeyboardInterrupt:
        typer.echo(f"No longer watching; the task goes on: callboard watch {task.task_id}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    raise typer.Exit(ENDS[end.status])
