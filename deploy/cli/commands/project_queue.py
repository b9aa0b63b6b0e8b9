"""`callboard project run`, `stop`, `force-stop`, `status`, `watch`, `runs`, `statistics`: the queue of a project."""

from functools import partial
from typing import Annotated, Literal

import typer

from deploy.cli.commands.project import ProjectId, group
from deploy.cli.exits import COMMAND_FAILED, EXIT_CODES_HELP
from deploy.cli.options import BeforeOption, JsonOption, LimitOption, PriorityOption

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
    from deploy.cli.connection import API, LONG_PATIENCE, open_client
    from deploy.cli.output import print_json
    from deploy.cli.projects import watch_project

    body = {"mode": mode, "item_id": item, "priority": priority}
    with open_client(actors=True, patience=LONG_PATIENCE) as client:
        start = partial(client.request, "POST", f"{API}/projects/{project_id}/run", json=body)
        if watch_it:
            watch_project(client, project_id, as_json=as_json, begin=start)
        elif as_json:
            print_json(start())
        else:
            typer.echo(start()["run_id"])


@group.command("stop", epilog=EXIT_CODES_HELP)
def stop(project_id: ProjectId, as_json: JsonOption = False) -> None:
    """Stop the queue after its current item.

    \b
    Examples:
      callboard project stop pj_0199b2…
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.projects import print_state

    with open_client() as client:
        client.request("POST", f"{API}/projects/{project_id}/queue/stop")
        after = client.request("GET", f"{API}/projects/{project_id}/queue/status")
    print_state(after, as_json=as_json)


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
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_json, sanitize

    if not (yes or as_json):
        typer.confirm("This kills what the project runs now. Go on?", abort=True)
    with open_client() as client:
        done = client.request("POST", f"{API}/projects/{project_id}/queue/force-stop")
    if as_json:
        print_json(done)
    else:
        for run_id in done["killed_runs"]:
            typer.echo(f"{run_id} was killed.")
        for left in done["still_running"]:
            sandbox = f"processes {left['pids']} of sandbox {left['sandbox_id']} on {left['host']}"
            typer.echo(sanitize(f"{left['run_id']}: still running: {sandbox if left['sandbox_id'] else 'its code'}"))
        if done["success"]:
            typer.echo("Nothing is running.")
    if not done["success"]:
        raise typer.Exit(COMMAND_FAILED)


@group.command("status", epilog=EXIT_CODES_HELP)
def status(project_id: ProjectId, as_json: JsonOption = False) -> None:
    """Show the state of a project's queue.

    \b
    Examples:
      callboard project status pj_0199b2… --json | jq .is_running
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.projects import print_state

    with open_client() as client:
        found = client.request("GET", f"{API}/projects/{project_id}/queue/status")
    print_state(found, as_json=as_json)


@group.command("watch", epilog=EXIT_CODES_HELP)
def watch(project_id: ProjectId, as_json: JsonOption = False) -> None:
    """Watch the queue until it stops.

    The exit code is 1 if its last run died, 6 if it was canceled. Ctrl-C ends the watching, not the queue.

    \b
    Examples:
      callboard project watch pj_0199b2…
      callboard project watch pj_0199b2… --json | jq -r 'select(.kind == "item").data.title'
    """
    from deploy.cli.connection import LONG_PATIENCE, open_client
    from deploy.cli.projects import watch_project

    with open_client(patience=LONG_PATIENCE) as client:
        watch_project(client, project_id, as_json=as_json)


@group.command("runs", epilog=EXIT_CODES_HELP)
def runs(
    project_id: ProjectId, limit: LimitOption = 20, before: BeforeOption = None, as_json: JsonOption = False
) -> None:
    """List the runs of a project, newest first: how long each took, and why the queue stopped.

    \b
    Examples:
      callboard project runs pj_0199b2…
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_page
    from deploy.cli.pages import fetch
    from deploy.cli.projects import tabulate_runs

    with open_client() as client:
        found = fetch(client, f"{API}/projects/{project_id}/runs", limit=limit, cursor=before)
    command = f"project runs {project_id}"
    print_page(found, tabulate_runs, command=command, if_empty="No runs.", as_json=as_json)


@group.command("statistics", epilog=EXIT_CODES_HELP)
def statistics(project_id: ProjectId, as_json: JsonOption = False) -> None:
    """Count the runs of a project: how they ended, how long they took, and what they cost.

    \b
    Examples:
      callboard project statistics pj_0199b2…
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import open_console, print_json
    from deploy.cli.projects import tabulate_statistics

    with open_client() as client:
        found = client.request("GET", f"{API}/projects/{project_id}/queue/statistics")
    if as_json:
        print_json(found)
    else:
        open_console().print(tabulate_statistics(found))
