"""`callboard workflow`: creates, shows and controls workflows."""

from typing import Annotated, Literal
from urllib.parse import quote

import typer

from deploy.cli.commands.list import StatusName as TaskStatus
from deploy.cli.exits import EXIT_CODES_HELP
from deploy.cli.options import BeforeOption, JsonOption, TenantOption, check_id

group = typer.Typer(no_args_is_help=True, epilog=EXIT_CODES_HELP)

# The statuses of `state.workflows`, repeated because importing `state` would slow down every `--help`.
StatusName = Literal["running", "completed", "failed", "escalated", "canceled"]


def _check_workflow_id(workflow_id: str) -> str:
    return check_id(workflow_id, "wf", "workflow", "workflow list")


WorkflowId = Annotated[
    str, typer.Argument(metavar="WORKFLOW_ID", help="The workflow's id (wf_...).", callback=_check_workflow_id)
]
StepKey = Annotated[str, typer.Argument(metavar="STEP", help="The key of the step.")]
ByOption = Annotated[str, typer.Option("--by", help="Who has decided. Default: the user of this shell.")]
NoteOption = Annotated[str | None, typer.Option(help="Why.", show_default=False)]


@group.callback()
def workflow() -> None:
    """Create workflows, follow them, and decide what they wait for.

    \b
    Examples:
      callboard workflow create examples/workflow.json --watch
      callboard workflow list --status escalated
      callboard workflow approve wf_0199b2… release --note "looks good"
    """


@group.command("create", epilog=EXIT_CODES_HELP)
def create(
    file: Annotated[str, typer.Argument(metavar="FILE", help="JSON of the workflow; - for stdin.")],
    watch: Annotated[bool, typer.Option("--watch", help="Follow it to its end, like `workflow watch`.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Create a workflow from a file, and start it.

    A workflow that cannot run as it is declared is refused (exit code 2); the message names the step.

    \b
    Examples:
      callboard workflow create examples/workflow.json
      jq '.tenant = "acme"' workflow.json | callboard workflow create - --json
    """
    from uuid import uuid4

    from deploy.cli.connection import API, LONG_PATIENCE, open_client
    from deploy.cli.payloads import read_payload
    from deploy.cli.workflows import print_workflow, watch_workflow

    body = read_payload(file if file == "-" else f"@{file}", [])
    with open_client(actors=True, patience=LONG_PATIENCE) as client:
        created = client.request("POST", f"{API}/workflows", json=body, idempotency_key=uuid4().hex)
        if watch:
            watch_workflow(client, created["workflow_id"], as_json=as_json)
        elif as_json:
            print_workflow(created, as_json=True)
        else:
            typer.echo(created["workflow_id"])


@group.command("list", epilog=EXIT_CODES_HELP)
def list_all(
    status: Annotated[StatusName | None, typer.Option(help="Only workflows in this status.")] = None,
    tenant: TenantOption = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The largest number of workflows to print.")] = 20,
    before: BeforeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List workflows, newest first.

    \b
    Examples:
      callboard workflow list
      callboard workflow list --status escalated --json | jq -r '.items[].workflow_id'
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_page
    from deploy.cli.pages import fetch
    from deploy.cli.workflows import tabulate_workflows

    with open_client() as client:
        found = fetch(client, f"{API}/workflows", limit=limit, cursor=before, status=status, tenant=tenant)
    print_page(found, tabulate_workflows, command="workflow list", if_empty="No workflows.", as_json=as_json)


@group.command("show", epilog=EXIT_CODES_HELP)
def show(workflow_id: WorkflowId, as_json: JsonOption = False) -> None:
    """Show a workflow and its steps.

    \b
    Examples:
      callboard workflow show wf_0199b2…
      callboard workflow show wf_0199b2… --json | jq '.steps[] | select(.status == "dead")'
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.workflows import print_workflow

    with open_client() as client:
        found = client.request("GET", f"{API}/workflows/{workflow_id}")
    print_workflow(found, as_json=as_json)


@group.command("step", epilog=EXIT_CODES_HELP)
def step(
    workflow_id: WorkflowId,
    key: StepKey,
    status: Annotated[TaskStatus | None, typer.Option(help="Only tasks in this status.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The largest number of tasks to print.")] = 20,
    before: BeforeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the tasks of a step, in the order of its list.

    \b
    Examples:
      callboard workflow step wf_0199b2… tags
      callboard workflow step wf_0199b2… tags --status dead --json | jq -r '.items[].task_id'
    """
    from deploy.cli.commands.list import tabulate_tasks
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_page
    from deploy.cli.pages import fetch

    path = f"{API}/workflows/{workflow_id}/steps/{quote(key, safe='')}/tasks"
    with open_client() as client:
        found = fetch(client, path, limit=limit, cursor=before, status=status)
    command = f"workflow step {workflow_id} {key}"
    print_page(found, tabulate_tasks, command=command, if_empty="No tasks.", as_json=as_json)


@group.command("watch", epilog=EXIT_CODES_HELP)
def watch(workflow_id: WorkflowId, as_json: JsonOption = False) -> None:
    """Watch a workflow until it ends.

    The exit code tells how it ended: 0 completed, 1 failed or escalated, 6 canceled. With --json, each event of its
    history is printed as one JSON document {n, kind, data, at}: first a `snapshot`, at the end `done`.

    \b
    Examples:
      callboard workflow watch wf_0199b2… && echo "completed"
    """
    from deploy.cli.connection import LONG_PATIENCE, open_client
    from deploy.cli.workflows import watch_workflow

    with open_client(patience=LONG_PATIENCE) as client:
        watch_workflow(client, workflow_id, as_json=as_json)


@group.command("cancel", epilog=EXIT_CODES_HELP)
def cancel(workflow_id: WorkflowId, as_json: JsonOption = False) -> None:
    """Cancel a workflow and everything of it that lives. Running tasks are asked to stop.

    \b
    Examples:
      callboard workflow cancel wf_0199b2…
    """
    _act(workflow_id, "cancel", None, as_json)


@group.command("resume", epilog=EXIT_CODES_HELP)
def resume(workflow_id: WorkflowId, as_json: JsonOption = False) -> None:
    """Let a failed or escalated workflow go on.

    Repair its steps first (`callboard retry`, `callboard dismiss`): while too many are failed, this is refused
    (exit code 4), and the message names them.

    \b
    Examples:
      callboard workflow resume wf_0199b2…
    """
    _act(workflow_id, "resume", None, as_json)


@group.command("approve", epilog=EXIT_CODES_HELP)
def approve(
    workflow_id: WorkflowId, step: StepKey, by: ByOption = "", note: NoteOption = None, as_json: JsonOption = False
) -> None:
    """Approve a step that waits for it.

    \b
    Examples:
      callboard workflow approve wf_0199b2… release --by anna --note "looks good"
    """
    _act(workflow_id, f"steps/{quote(step, safe='')}/approve", {"by": by or _get_user(), "note": note}, as_json)


@group.command("reject", epilog=EXIT_CODES_HELP)
def reject(
    workflow_id: WorkflowId, step: StepKey, by: ByOption = "", note: NoteOption = None, as_json: JsonOption = False
) -> None:
    """Reject a step that waits for approval: the step has failed.

    \b
    Examples:
      callboard workflow reject wf_0199b2… release --note "not this week"
    """
    _act(workflow_id, f"steps/{quote(step, safe='')}/reject", {"by": by or _get_user(), "note": note}, as_json)


def _act(workflow_id: str, verb: str, body: dict[str, str | None] | None, as_json: bool) -> None:
    from deploy.cli.connection import API, open_client
    from deploy.cli.workflows import print_new_status

    with open_client() as client:
        changed = client.request("POST", f"{API}/workflows/{workflow_id}/{verb}", json=body)
    print_new_status(changed, as_json=as_json)


def _get_user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in some containers
        return "callboard"
