"""`callboard workflow`: creates, shows and controls workflows."""

from typing import Annotated, Literal

import typer

from deploy.cli.exits import EXIT_CODES_HELP, NOT_FOUND, Failure
from deploy.cli.options import JsonOption, TenantOption

group = typer.Typer(no_args_is_help=True, epilog=EXIT_CODES_HELP)

# The statuses of `state.workflows`, repeated because importing `state` would slow down every `--help`.
StatusName = Literal["running", "completed", "failed", "escalated", "canceled"]


def _check_workflow_id(workflow_id: str) -> str:
    from state.tasks.ids import is_workflow_id

    if not is_workflow_id(workflow_id):
        message = f"There is no workflow {workflow_id!r}: an id is wf_ and 32 hexadecimal digits."
        raise Failure(NOT_FOUND, f"{message} `callboard workflow list` shows them.")
    return workflow_id


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
    from pydantic import ValidationError

    from deploy.cli.exits import BAD_INPUT
    from deploy.cli.payloads import read_payload
    from deploy.cli.store import load_actors, open_store
    from deploy.cli.workflows import print_workflow, watch_workflow
    from state.workflows import Workflow, create_workflow

    body = read_payload(file if file == "-" else f"@{file}", [])
    try:
        definition = Workflow.model_validate(body)
    except ValidationError as refused:
        first = refused.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Failure(BAD_INPUT, f"{file}: {where}: {first['msg']}") from None
    with open_store():
        load_actors()
        created = create_workflow(definition)
        if watch:
            watch_workflow(created.workflow_id, as_json=as_json)
        elif as_json:
            print_workflow(created, as_json=True)
        else:
            typer.echo(created.workflow_id)


@group.command("list", epilog=EXIT_CODES_HELP)
def list_all(
    status: Annotated[StatusName | None, typer.Option(help="Only workflows in this status.")] = None,
    tenant: TenantOption = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The largest number of workflows to print.")] = 20,
    before: Annotated[
        str | None, typer.Option(metavar="WORKFLOW_ID", help="Continue after this one, the last of the page before.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List workflows, newest first.

    \b
    Examples:
      callboard workflow list
      callboard workflow list --status escalated --json | jq -r '.items[].workflow_id'
    """
    from deploy.cli.store import open_store
    from deploy.cli.workflows import print_list
    from state.workflows import list_workflows

    with open_store():
        found = list_workflows(status=status, tenant=tenant, before=before, limit=limit + 1)
    print_list(found, limit, as_json=as_json)


@group.command("show", epilog=EXIT_CODES_HELP)
def show(workflow_id: WorkflowId, as_json: JsonOption = False) -> None:
    """Show a workflow and its steps.

    \b
    Examples:
      callboard workflow show wf_0199b2…
      callboard workflow show wf_0199b2… --json | jq '.steps[] | select(.status == "dead")'
    """
    from deploy.cli.store import open_store
    from deploy.cli.workflows import print_workflow
    from state.workflows import get_workflow

    with open_store():
        found = get_workflow(workflow_id)
    print_workflow(found, as_json=as_json)


@group.command("watch", epilog=EXIT_CODES_HELP)
def watch(workflow_id: WorkflowId, as_json: JsonOption = False) -> None:
    """Watch a workflow until it ends.

    The exit code tells how it ended: 0 completed, 1 failed or escalated, 6 canceled. With --json, each event of its
    history is printed as one JSON document {n, kind, data, at}: first a `snapshot`, at the end `done`.

    \b
    Examples:
      callboard workflow watch wf_0199b2… && echo "completed"
    """
    from deploy.cli.store import open_store
    from deploy.cli.workflows import watch_workflow

    with open_store():
        watch_workflow(workflow_id, as_json=as_json)


@group.command("cancel", epilog=EXIT_CODES_HELP)
def cancel(workflow_id: WorkflowId, as_json: JsonOption = False) -> None:
    """Cancel a workflow and everything of it that lives. Running tasks are asked to stop.

    \b
    Examples:
      callboard workflow cancel wf_0199b2…
    """
    from deploy.cli.store import open_store
    from deploy.cli.workflows import print_new_status
    from state.workflows import cancel_workflow

    with open_store():
        changed = cancel_workflow(workflow_id)
    print_new_status(changed, as_json=as_json)


@group.command("resume", epilog=EXIT_CODES_HELP)
def resume(workflow_id: WorkflowId, as_json: JsonOption = False) -> None:
    """Let a failed or escalated workflow go on.

    Repair its steps first (`callboard retry`, `callboard dismiss`): while too many are failed, this is refused
    (exit code 4), and the message names them.

    \b
    Examples:
      callboard workflow resume wf_0199b2…
    """
    from deploy.cli.store import open_store
    from deploy.cli.workflows import print_new_status
    from state.workflows import resume_workflow

    with open_store():
        changed = resume_workflow(workflow_id)
    print_new_status(changed, as_json=as_json)


@group.command("approve", epilog=EXIT_CODES_HELP)
def approve(
    workflow_id: WorkflowId, step: StepKey, by: ByOption = "", note: NoteOption = None, as_json: JsonOption = False
) -> None:
    """Approve a step that waits for it.

    \b
    Examples:
      callboard workflow approve wf_0199b2… release --by anna --note "looks good"
    """
    from deploy.cli.store import open_store
    from deploy.cli.workflows import print_new_status
    from state import workflows

    with open_store():
        changed = workflows.approve(workflow_id, step, by=by or _get_user(), note=note)
    print_new_status(changed, as_json=as_json)


@group.command("reject", epilog=EXIT_CODES_HELP)
def reject(
    workflow_id: WorkflowId, step: StepKey, by: ByOption = "", note: NoteOption = None, as_json: JsonOption = False
) -> None:
    """Reject a step that waits for approval: the step has failed.

    \b
    Examples:
      callboard workflow reject wf_0199b2… release --note "not this week"
    """
    from deploy.cli.store import open_store
    from deploy.cli.workflows import print_new_status
    from state import workflows

    with open_store():
        changed = workflows.reject(workflow_id, step, by=by or _get_user(), note=note)
    print_new_status(changed, as_json=as_json)


def _get_user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in some containers
        return "callboard"
