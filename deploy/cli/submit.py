"""`callboard submit`: asks for work."""

import sys
from typing import Annotated

import typer

from deploy.cli.exits import BAD_INPUT, Failure
from deploy.cli.options import JsonOption


def submit(
    actor: Annotated[str, typer.Argument(metavar="ACTOR", help="The kind of work.")],
    payload: Annotated[
        str | None, typer.Argument(metavar="PAYLOAD", help="JSON, @file, or - for stdin.", show_default=False)
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Sets one field, over the payload. JSON where it is JSON, otherwise text; @file: the file's text; "
            "key.inner reaches inside.",
        ),
    ] = None,
    priority: Annotated[int, typer.Option(min=0, max=3, help="0 comes first.")] = 2,
    delay: Annotated[float | None, typer.Option(metavar="SECONDS", help="Not before so many seconds.")] = None,
    max_attempts: Annotated[int | None, typer.Option(min=1, max=1000, help="Instead of the actor's own.")] = None,
    tenant: Annotated[str | None, typer.Option(help="On whose behalf.")] = None,
    queue: Annotated[str | None, typer.Option(help="Instead of the actor's own.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Follow the task to its end, like `watch`.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Submit a task.

    Once its id is printed, the task is stored, and will end. With --watch the exit code says how it ended, and --json
    prints its events, as `callboard watch` does.

    \b
    Examples:
      callboard submit media_generation --set prompt="a lighthouse at dusk" --watch
      callboard submit media_generation '{"prompt": "a lighthouse", "params": {"steps": 20}}'
      callboard submit summarize --set content=@article.txt --watch
      callboard submit agent @task.json --priority 0 --delay 60
      jq -n '{prompt: "a lighthouse"}' | callboard submit media_generation - --json
    """
    import state
    from deploy.cli.output import print_json, task_json
    from deploy.cli.payloads import read_payload
    from deploy.cli.store import open_store
    from deploy.cli.watch import watch_to_the_end

    body = read_payload(payload, assignments or [])
    with open_store():
        _load_actors()
        task = state.submit(
            actor, body, priority=priority, delay_seconds=delay, max_attempts=max_attempts, tenant=tenant,
            queue=queue,
        )  # fmt: skip
        if watch:
            watch_to_the_end(task, as_json=as_json)
        elif as_json:
            print_json(task_json(task))
        else:
            typer.echo(task.task_id)
            if sys.stdout.isatty():
                typer.echo(f"It is {task.status}. `callboard watch {task.task_id}` follows it.", err=True)


def _load_actors() -> None:
    from state.tasks.catalog import load_actors

    try:
        load_actors()
    except ImportError as missing:
        raise Failure(BAD_INPUT, f"CALLBOARD_ACTORS names what cannot be imported: {missing}.") from missing
