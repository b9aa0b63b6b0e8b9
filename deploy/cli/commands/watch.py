"""`callboard watch`: follows a task, a workflow, a project or the queues."""

from typing import Annotated

import typer

from deploy.cli.options import JsonOption, check_id

What = Annotated[
    str, typer.Argument(metavar="WHAT", help="The id of a task, workflow (wf_...) or project (pj_...); or `queues`.")
]


def watch(what: What, as_json: JsonOption = False) -> None:
    """Watch a task until it ends; also a workflow, the queue of a project, or all queues.

    The exit code tells how it ended: 0 completed, 1 dead, 6 canceled. Ctrl-C ends the watching, not the task. If the
    server or the database restarts, the command waits for it. With --json, each event is printed as one JSON document
    {n, kind, data, at}: first a `snapshot` with the whole task, at the end `done`. `watch queues` prints the status of
    the queues whenever it changes, until Ctrl-C.

    \b
    Examples:
      callboard watch tq_0199b2...
      callboard watch tq_0199b2... --json | jq -r 'select(.kind == "token").data.text'
      callboard watch tq_0199b2... && echo "completed"
      callboard watch queues
    """
    from deploy.cli.connection import LONG_PATIENCE, open_client
    from deploy.cli.watch import watch_queues, watch_task

    prefix = what[:3]
    if prefix not in ("wf_", "pj_") and what != "queues":
        check_id(what, "tq", "task", "list")
    with open_client(actors=what == "queues", patience=LONG_PATIENCE) as client:
        if what == "queues":
            watch_queues(client, as_json=as_json)
        elif prefix == "wf_":
            from deploy.cli.workflows import watch_workflow

            watch_workflow(client, check_id(what, "wf", "workflow", "workflow list"), as_json=as_json)
        elif prefix == "pj_":
            from deploy.cli.projects import watch_project

            watch_project(client, check_id(what, "pj", "project", "project list"), as_json=as_json)
        else:
            watch_task(client, what, as_json=as_json)
