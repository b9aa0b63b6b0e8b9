"""`callboard submit`: creates a task."""

import sys
from typing import Annotated

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
    import state
    from deploy.cli.output import dump_task, print_json
    from deploy.cli.payloads import read_payload
    from deploy.cli.store import load_actors, open_store
    from deploy.cli.watch import watch_to_end

    body = read_payload(payload, assignments or [])
    with open_store():
        load_actors()
        task = state.submit(
            actor, body, priority=priority, delay_seconds=delay, max_attempts=max_attempts, tenant=tenant,
            queue=queue,
        )  # fmt: skip
        if watch:
            watch_to_end(task, as_json=as_json)
        elif as_json:
            print_json(dump_task(task))
        else:
            typer.echo(task.task_id)
            if sys.stdout.isatty():
                typer.echo(f"It is {task.status}. `callboard watch {task.task_id}` follows it.", err=True)
