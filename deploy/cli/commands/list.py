"""`callboard list`: lists tasks."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from deploy.cli.options import (
    ActorOption,
    AgentOption,
    BeforeOption,
    JsonOption,
    LimitOption,
    TaskTypeOption,
    TenantOption,
)

if TYPE_CHECKING:
    from rich.table import Table

# The statuses of `state.transitions`, repeated because importing `state` would slow down every `--help`.
StatusName = Literal["scheduled", "queued", "waiting", "running", "paused", "completed", "canceled", "dead"]


def list_tasks(
    status: Annotated[StatusName | None, typer.Option(help="Only tasks in this status.")] = None,
    actor: ActorOption = None,
    agent_name: AgentOption = None,
    task_type: TaskTypeOption = None,
    workflow: Annotated[
        str | None, typer.Option("--workflow", metavar="WORKFLOW_ID", help="Only tasks of this workflow.")
    ] = None,
    queue: Annotated[str | None, typer.Option(help="Only tasks of this queue.")] = None,
    tenant: TenantOption = None,
    error_type: Annotated[str | None, typer.Option(help="Only tasks whose last error is of this type.")] = None,
    text: Annotated[
        str | None,
        typer.Option(
            help="Only tasks with these words in their id, names, error, progress or payload.", show_default=False
        ),
    ] = None,
    limit: LimitOption = 20,
    before: BeforeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List tasks, newest first.

    \b
    Examples:
      callboard list
      callboard list --status running
      callboard list --status dead --actor summarize --limit 100
      callboard list --agent text --task-type statistics
      callboard list --status dead --text '"too many requests" leonardo'
      callboard list --json | jq -r '.items[].task_id'
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_page
    from deploy.cli.pages import fetch

    with open_client() as client:
        found = fetch(
            client, f"{API}/tasks", limit=limit, cursor=before, status=status, actor=actor, agent_name=agent_name,
            task_type=task_type, workflow_id=workflow, queue=queue, tenant=tenant, error_type=error_type, text=text,
        )  # fmt: skip
    print_page(found, tabulate_tasks, command="list", if_empty="No tasks.", as_json=as_json)


def tabulate_tasks(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import (
        format_actor,
        format_error,
        format_percent,
        format_relative,
        format_status,
        sanitize,
        start_table,
    )
    from taskclient import ListedTask

    table = start_table()
    for heading in ("Task", "Actor", "Status"):
        table.add_column(heading, no_wrap=True)
    table.add_column("Progress", justify="right", no_wrap=True)
    table.add_column("Attempt", no_wrap=True)
    table.add_column("Submitted", no_wrap=True)
    table.add_column("", no_wrap=True, overflow="ellipsis", ratio=1)
    for task in map(ListedTask.model_validate, rows):
        # The error of an earlier attempt says more than the progress, until the task has completed.
        note = format_error(task.error) or sanitize(task.progress.message or "")
        table.add_row(
            task.task_id,
            Text(format_actor(task)),
            format_status(task.status),
            format_percent(task.progress),
            f"{task.attempt}/{task.max_attempts}",
            format_relative(task.created_at),
            Text(note),
        )
    return table
