"""Follows one task on the terminal until it ends."""

from typing import TYPE_CHECKING

import typer

from deploy.cli.exits import EXIT_CODE_BY_STATUS, INTERRUPTED

if TYPE_CHECKING:
    from state import Task


def watch_to_end(task: "Task", *, as_json: bool) -> None:
    """Shows the task until it ends, then exits with the code of its final status. Ctrl-C ends only the watching."""
    import state
    from deploy.cli.watch.following import follow
    from deploy.cli.watch.screens import open_screen

    try:
        with open_screen(as_json) as screen:
            final = follow(task.task_id, state.get_task, screen)
    except KeyboardInterrupt:
        typer.echo(f"No longer watching; the task goes on. To continue: callboard watch {task.task_id}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    raise typer.Exit(EXIT_CODE_BY_STATUS[final.status])
