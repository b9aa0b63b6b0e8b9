"""`callboard prove`: faults for the user's own actors, on a scratch database."""

from pathlib import Path
from typing import Annotated

import typer

from deploy.cli.options import JsonOption

_SHOWN = 50


def prove(
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            "--task",
            metavar="NAME=JSON",
            help="An actor and the payload to give it; can be repeated. Default: all actors of CALLBOARD_ACTORS that "
            "can do with an empty payload.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Repeats the schedule of an earlier run. Default: a new one.", show_default=False)
    ] = None,
    seconds: Annotated[float, typer.Option(min=10, help="How long there are faults.")] = 60,
    keep: Annotated[
        Path | None, typer.Option(help="A folder that keeps the journals and logs.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show that faults lose and double nothing: with your actors, on your Postgres.

    Creates the scratch database callboard_prove on the server of CALLBOARD_DATABASE_URL, and drops it at the end.
    Starts workers and HTTP servers of its own there, submits tasks, and meanwhile kills and stops these processes, ends
    their connections, locks rows, cancels and pauses. Then it compares what the code has done with what the database,
    streams and webhooks say. Your own database, workers and servers are left alone, and Postgres is never restarted.

    The actors really run, many times, also those that call somebody who charges for it. The exit code is 1 if a promise
    was broken.

    \b
    Examples:
      callboard prove
      CALLBOARD_ACTORS=actors,render callboard prove --task 'render={"scene": 7}' --seconds 300
      callboard prove --seed 7 --keep /tmp/proof
    """
    import random
    import signal
    import sys
    import tempfile

    from deploy.cli.exits import COMMAND_FAILED, INTERRUPTED
    from deploy.cli.output import print_json
    from deploy.cli.store import load_actors, open_store

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(INTERRUPTED))  # what was started is ended, the database dropped

    def say(line: str) -> None:
        typer.echo(line, err=as_json)

    with open_store(current_schema=False), tempfile.TemporaryDirectory(prefix="callboard-prove-") as temporary:
        load_actors()
        from deploy.prove.own import prove as run
        from deploy.prove.samples import choose_samples

        samples, left_out = choose_samples(tasks or [])
        say(f"actors: {', '.join(sample.actor for sample in samples)}")
        for name in left_out:
            say(f"left out: {name}, which needs a payload: --task '{name}={{…}}'")
        folder = keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        chosen = random.randrange(10**6) if seed is None else seed  # noqa: S311
        verdict = run(chosen, seconds, samples, folder.resolve(), say)
    for violation in verdict.violations[:_SHOWN]:
        say(str(violation))
    if as_json:
        print_json(verdict.as_json())
    else:
        say(f"\n{verdict.table()}\n\n{verdict.summary()}")
    if verdict.violations:
        raise typer.Exit(COMMAND_FAILED)
