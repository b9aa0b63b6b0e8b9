"""`callboard list`: what there is."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from deploy.cli.options import JsonOption

if TYPE_CHECKING:
    from rich.table import Table

    from state import Task

StatusName = Literal["scheduled", "queued", "waiting", "running", "paused", "completed", "canceled", "dead"]


def list_tasks(
    status: Annotated[StatusName | None, typer.Option(help="Only tasks in this status.")] = None,
    actor: Annotated[str | None, typer.Option(help="Only tasks of this actor.")] = None,
    queue: Annotated[str | None, typer.Option(help="Only tasks of this queue.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Only tasks of this tenant.")] = None,
    error_type: Annotated[str | None, typer.Option(help="Only tasks whose last error is of this type.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 20,
    before: Annotated[
        str | None, typer.Option(metavar="TASK_ID", help="Go on after this one, the last of a page.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List tasks, newest first.

    \b
    Examples:
      callboard list
      callboard list --status running
      callboard list --status dead --actor summarize --limit 100
      callboard list --json | jq -r '.items[].task_id'
    """
    import state
    from deploy.cli.output import console, print_json, task_json
    from deploy.cli.store import open_store

    with open_store():
        found = state.list_tasks(
            limit=limit + 1, before=before, status=status, actor=actor, queue=queue, tenant=tenant,
            error_type=error_type,
        )  # fmt: skip
    tasks, more = found[:limit], len(found) > limit
    if as_json:
        cursor = tasks[-1].task_id if more else None
        print_json({"items": [task_json(task) for task in tasks], "next_cursor": cursor})
    elif not tasks:
        typer.echo("No tasks.")
    else:
        console().print(_table(tasks))
        if more:
            typer.echo(f"There are more: callboard list --before {tasks[-1].task_id} (with the same filters)")


def _table(tasks: "list[Task]") -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from deploy.cli.output import error_line, percent_text, plain, relative, status_text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("Task", "Actor", "Status"):
        table.add_column(heading, no_wrap=True)
    table.add_column("Progress", justify="right", no_wrap=True)
    table.add_column("Attempt", no_wrap=True)
    table.add_column("Submitted", no_wrap=True)
    table.add_column("", no_wrap=True, overflow="ellipsis", ratio=1)
    for task in tasks:
        # The error of an earlier attempt matters until the task is well again.
        note = error_line(task.error) or plain(task.progress.get("message") or "")
        table.add_row(
            task.task_id,
            Text(plain(task.actor)),
            status_text(task.status),
            percent_text(task.progress),
            f"{task.attempt}/{task.max_attempts}",
            relative(task.created_at),
            Text(note),
        )
    return table
