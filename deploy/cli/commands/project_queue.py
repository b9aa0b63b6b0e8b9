"""`callboard project run`, `stop`, `force-stop`, `status`, `watch`, `runs`: the queue of a project."""

from typing import Annotated, Literal

import typer

from deploy.cli.commands.project import Limit, PriorityOption, ProjectId, group
from deploy.cli.exits import COMMAND_FAILED, EXIT_CODES_HELP
from deploy.cli.options import JsonOption

ModeName = Literal["single", "loop"]  # repeated from `state.projects`, whose import would slow down every `--help`


@group.command("run", epilog=EXIT_CODES_HELP)
def run(
    project_id: ProjectId,
    mode: Annotated[ModeName, typer.Option(help="One item, or one after the other.")] = "single",
    item: Annotated[str | None, typer.Option(metavar="ITEM_ID", help="The item to begin with.")] = None,
    priority: PriorityOption = None,
    watch_it: Annotated[bool, typer.Option("--watch", help="Follow the queue until it stops.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Start the queue of a project. A queue that runs already is left alone (exit code 4).

    \b
    Examples:
      callboard project run pj_0199b2…
      callboard project run pj_0199b2… --mode loop --watch
    """
    from deploy.cli.output import print_json
    from deploy.cli.projects import parse_priority, watch_queue
    from deploy.cli.store import load_actors, open_store
    from state.projects.queue import start_run

    with open_store():
        load_actors()
        run_id = start_run(project_id, mode, item_id=item, priority=parse_priority(priority))
        if watch_it:
            watch_queue(project_id, as_json=as_json)
        elif as_json:
            print_json({"project_id": project_id, "run_id": run_id})
        else:
            typer.echo(run_id)


@group.command("stop", epilog=EXIT_CODES_HELP)
def stop(project_id: ProjectId, as_json: JsonOption = False) -> None:
    """Stop the queue after its current item.

    \b
    Examples:
      callboard project stop pj_0199b2…
    """
    from deploy.cli.projects import print_state
    from deploy.cli.store import open_store
    from state.projects.queue import stop as stop_queue

    with open_store():
        after = stop_queue(project_id)
    print_state(after.queue_state, as_json=as_json)


@group.command("force-stop", epilog=EXIT_CODES_HELP)
def force_stop(
    project_id: ProjectId,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Interrupt the run, kill its commands, and wait until they are gone. Its item fails.

    Exit code 1 if something is still running after 10 s; it is listed.

    \b
    Examples:
      callboard project force-stop pj_0199b2… --yes
    """
    from dataclasses import asdict

    from deploy.cli.output import print_json, sanitize
    from deploy.cli.store import open_store
    from state.projects.queue import force_stop as force_stop_queue

    if not (yes or as_json):
        typer.confirm("This kills what the project runs now. Go on?", abort=True)
    with open_store():
        done = force_stop_queue(project_id)
    if as_json:
        print_json(asdict(done))
    else:
        for run_id in done.killed_runs:
            typer.echo(f"{run_id} was killed.")
        for left in done.still_running:
            what = (
                f"processes {left.pids} of sandbox {left.sandbox_id} on {left.host}" if left.sandbox_id else "its code"
            )
            typer.echo(sanitize(f"{left.run_id}: still running: {what}"))
        if done.success:
            typer.echo("Nothing is running.")
    if not done.success:
        raise typer.Exit(COMMAND_FAILED)


@group.command("status", epilog=EXIT_CODES_HELP)
def status(project_id: ProjectId, as_json: JsonOption = False) -> None:
    """Show the state of a project's queue.

    \b
    Examples:
      callboard project status pj_0199b2… --json | jq .is_running
    """
    from deploy.cli.projects import print_state
    from deploy.cli.store import open_store
    from state.projects.reads import get_project

    with open_store():
        found = get_project(project_id)
    print_state(found.queue_state, as_json=as_json)


@group.command("watch", epilog=EXIT_CODES_HELP)
def watch(project_id: ProjectId, as_json: JsonOption = False) -> None:
    """Watch the queue until it stops.

    The exit code is 1 if its last run died, 6 if it was canceled. Ctrl-C ends the watching, not the queue.

    \b
    Examples:
      callboard project watch pj_0199b2…
      callboard project watch pj_0199b2… --json | jq -r 'select(.kind == "item").data.title'
    """
    from deploy.cli.projects import watch_queue
    from deploy.cli.store import open_store

    with open_store():
        watch_queue(project_id, as_json=as_json)


@group.command("runs", epilog=EXIT_CODES_HELP)
def runs(project_id: ProjectId, limit: Limit = 20, as_json: JsonOption = False) -> None:
    """List the runs of a project, newest first: how long each took, and why the queue stopped.

    \b
    Examples:
      callboard project runs pj_0199b2…
    """
    from deploy.cli.projects import print_models, tabulate_runs
    from deploy.cli.store import open_store
    from state.projects.reads import list_runs

    with open_store():
        found = list_runs(project_id, limit=limit)
    print_models(found, tabulate_runs, if_empty="No runs.", as_json=as_json)
