"""`callboard submit`: creates a task."""

import sys
from typing import Annotated, cast

import typer

from deploy.cli.options import JsonOption, PriorityOption


def submit(
    actor: Annotated[str, typer.Argument(metavar="ACTOR", help="The actor that runs the task.")],
    payload: Annotated[
        str | None, typer.Argument(metavar="PAYLOAD", help="JSON, @file, or - for stdin.", show_default=False)
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Set one field of the payload. The value is JSON, or else text; @file is the file's text; "
            "key.inner sets a field of an inner object.",
        ),
    ] = None,
    priority: PriorityOption = None,
    delay: Annotated[float | None, typer.Option(metavar="SECONDS", help="Start after so many seconds.")] = None,
    max_attempts: Annotated[int | None, typer.Option(min=1, max=1000, help="Overrides the actor's own.")] = None,
    tenant: Annotated[str | None, typer.Option(help="The tenant that the task belongs to.")] = None,
    queue: Annotated[str | None, typer.Option(help="Overrides the actor's own.")] = None,
    webhook_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Report moves of the task to this URL, signed.")
    ] = None,
    webhook_event: Annotated[
        list[str] | None,
        typer.Option(metavar="STATUS", help="A status to report; can be given again. Default: all finished ones."),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Follow the task to its end, like `watch`.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Submit a task.

    When its id is printed, the task is stored and will run. With --watch, the exit code tells how it ended, and --json
    prints its events, as `callboard watch` does.

    \b
    Examples:
      callboard submit media_generation --set prompt="a lighthouse at dusk" --watch
      callboard submit media_generation '{"prompt": "a lighthouse", "params": {"steps": 20}}'
      callboard submit summarize --set content=@article.txt --watch
      callboard submit agent @task.json --priority high --delay 60
      jq -n '{prompt: "a lighthouse"}' | callboard submit media_generation - --json
    """
    from deploy.cli.connection import LONG_PATIENCE, open_client
    from deploy.cli.output import dump_task, print_json
    from deploy.cli.payloads import read_payload
    from deploy.cli.watch import watch_task
    from taskclient import TaskOptions

    body = read_payload(payload, assignments or [])
    given = {
        "priority": priority, "delay_seconds": delay, "max_attempts": max_attempts, "tenant": tenant, "queue": queue,
        "webhook_url": webhook_url, "webhook_events": webhook_event or None,
    }  # fmt: skip
    options = cast("TaskOptions", {name: value for name, value in given.items() if value is not None})
    with open_client(actors=True, patience=LONG_PATIENCE) as client:
        task = client.submit(actor, body, **options)
        if watch:
            watch_task(client, task.task_id, as_json=as_json)
        elif as_json:
            print_json(dump_task(task))
        else:
            typer.echo(task.task_id)
            if sys.stdout.isatty():
                typer.echo(f"It is {task.status}. `callboard watch {task.task_id}` follows it.", err=True)
