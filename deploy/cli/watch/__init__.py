"""Follows a task, or the queues, on the terminal."""

from typing import TYPE_CHECKING

import typer

from deploy.cli.connection import API
from deploy.cli.exits import EXIT_CODE_BY_STATUS, INTERRUPTED

if TYPE_CHECKING:
    from taskclient import Client


def watch_task(client: "Client", task_id: str, *, as_json: bool) -> None:
    """Shows the task until it ends, then exits with the code of its final status. Ctrl-C ends only the watching."""
    from deploy.cli.watch.following import follow
    from deploy.cli.watch.screens import open_screen

    try:
        with open_screen(as_json) as screen:
            final = follow(client, f"{API}/tasks/{task_id}", screen)
    except KeyboardInterrupt:
        typer.echo(f"No longer watching; the task goes on. To continue: callboard watch {task_id}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    raise typer.Exit(EXIT_CODE_BY_STATUS[final["status"]])


def watch_queues(client: "Client", *, as_json: bool) -> None:
    """Shows the queues whenever they change, until Ctrl-C."""
    from contextlib import closing

    from deploy.cli.watch.queue_screens import open_queue_screen

    try:
        with (
            open_queue_screen(as_json) as screen,
            closing(client.follow(f"{API}/queues/stream", on_lost=screen.show_outage)) as stream,
        ):
            for event in stream:
                screen.show_event(event)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
