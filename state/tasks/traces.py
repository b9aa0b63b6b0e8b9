"""The trace that a task belongs to."""

from state.database import fetch_one
from state.database.errors import TRANSIENT
from state.errors import NotReady


def read_traceparent(task_id: str) -> str | None:
    """Returns the span that has submitted the task. Returns None if the database does not answer: a trace is not worth
    an attempt."""
    try:
        row = fetch_one("traceparent", {"id": task_id})
    except (NotReady, *TRANSIENT):
        return None
    return None if row is None else row["traceparent"]
