"""`callboard watch`: follows a task to its end."""

from deploy.cli.options import JsonOption, TaskId


def watch(task_id: TaskId, as_json: JsonOption = False) -> None:
    """Watch a task until it ends.

    The exit code tells how the task ended: 0 completed, 1 dead, 6 canceled. Ctrl-C ends the watching, not the task. If
    the database restarts, the command waits for it. With --json, each event of the task is printed as one JSON document
    {n, kind, data, at}: first a `snapshot` with the whole task, at the end `done`.

    \b
    Examples:
      callboard watch tq_0199b2...
      callboard watch tq_0199b2... --json | jq -r 'select(.kind == "token").data.text'
      callboard watch tq_0199b2... && echo "completed"
    """
    import state
    from deploy.cli.store import open_store
    from deploy.cli.watch import watch_to_end

    with open_store():
        watch_to_end(state.get_task(task_id), as_json=as_json)
