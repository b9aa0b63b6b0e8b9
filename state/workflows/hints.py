"""Hints after a commit that has changed a workflow."""

from state.database import fetch, retrying
from state.database.notifier import notify_tasks, notify_work

_fetch = retrying(fetch)


def announce_workflow(workflow_id: str) -> None:
    """Its history has grown, and it may have started tasks."""
    notify_work({row["queue"] for row in _fetch("workflow_queues", {"id": workflow_id})})
    notify_tasks([workflow_id])
