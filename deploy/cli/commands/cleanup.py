"""`callboard delete` and `requeue-orphaned`."""

import typer

from deploy.cli.options import JsonOption, TaskId


def delete(task_id: TaskId, as_json: JsonOption = False) -> None:
    """Hide a finished task. Its history is kept in the database. A task that lives cannot be deleted (exit code 4).

    \b
    Examples:
      callboard delete tq_0199b2…
    """
    from deploy.cli.connection import open_client
    from deploy.cli.output import print_json

    with open_client() as client:
        client.delete(task_id)
    if as_json:
        print_json({"task_id": task_id, "deleted": True})
    else:
        typer.echo(f"{task_id} is deleted.")


def requeue_orphaned(as_json: JsonOption = False) -> None:
    """Look now for tasks whose worker is gone, and say what was found. Workers do the same every second.

    \b
    Examples:
      callboard requeue-orphaned
      callboard requeue-orphaned --json | jq .lost.count
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_json, sanitize

    with open_client() as client:
        found = client.request("POST", f"{API}/tasks/requeue-orphaned")
    if as_json:
        print_json(found)
        return
    for kind in ("lost", "expired", "due", "woken"):
        for task in found[kind]["tasks"]:
            typer.echo(sanitize(f"{kind:>8}  {task['task_id']}  {task['actor'] or '-'}  {task['status']}"))
    for worker in found["dead_workers"]:
        typer.echo(f"    dead  {sanitize(worker)}")
    counts = ", ".join(f"{found[kind]['count']} {kind}" for kind in ("lost", "expired", "due", "woken"))
    typer.echo(f"Tasks: {counts}. Dead workers: {len(found['dead_workers'])}.")
