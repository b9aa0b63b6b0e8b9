"""What tests look at in a project."""

from state import get_events
from state.projects.reads import QueueState, get_project, list_items


def queue(project_id: str) -> QueueState:
    return get_project(project_id).queue_state


def statuses(project_id: str) -> list[str]:
    return [item.status for item in list_items(project_id)]


def reasons(project_id: str) -> list[tuple[str | None, str, str]]:
    """Of all changes of the queue."""
    events = [event.data for event in get_events(project_id) if event.kind == "queue"]
    return [(data["from"], data["to"], data["reason"]) for data in events]
