"""`callboard pause`, `resume`, `retry`: stop a task for a while, and run it again."""

from typing import Annotated

import typer

from deploy.cli.options import JsonOption, TaskId


def pause(task_id: TaskId, as_json: JsonOption = False) -> None:
    """Pause a task.

    A task that is not running is paused at once. A running one is paused when its worker has stopped it; its checkpoint
    is kept. A task that has ended cannot be paused (exit code 4).

    \b
    Examples:
      callboard pause tq_0199b2…
    """
    from deploy.cli.connection import open_client
    from deploy.cli.output import print_new_status

    with open_client() as client:
        task = client.pause(task_id)
    print_new_status(task, as_json=as_json)


def resume(task_id: TaskId, as_json: JsonOption = False) -> None:
    """Let a paused or dead task continue from its checkpoint.

    \b
    Examples:
      callboard resume tq_0199b2…
      callboard resume tq_0199b2… && callboard watch tq_0199b2…
    """
    from deploy.cli.connection import open_client
    from deploy.cli.output import print_new_status

    with open_client() as client:
        task = client.resume(task_id)
    print_new_status(task, as_json=as_json)


def retry(
    task_id: TaskId,
    payload: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="Replace the payload: JSON, @file, or - for stdin.", show_default=False),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change one field of the payload, as in `submit`."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run a dead task, or one that waits for its retry, again now.

    With another payload the task starts over; the original payload stays in its history.

    \b
    Examples:
      callboard retry tq_0199b2…
      callboard retry tq_0199b2… --set params.width=512
      callboard retry tq_0199b2… --payload @corrected.json
    """
    from deploy.cli.connection import open_client
    from deploy.cli.output import print_new_status
    from deploy.cli.payloads import assign, read_payload

    body = None if payload is None else read_payload(payload, assignments or [])
    with open_client(actors=payload is not None or bool(assignments)) as client:
        if payload is None and assignments:
            body = assign(client.get(task_id).payload, assignments)
        task = client.retry(task_id, body)
    print_new_status(task, as_json=as_json)
