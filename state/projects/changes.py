"""The log of changes of queues: a line for each, with its reason, and how long the state before has lasted."""

from collections.abc import Sequence
from typing import Any

from state.database import AnyConnection, fetch
from state.logs import log


def log_change(project_id: str, change: dict[str, Any] | None) -> None:
    """Logs the data of a `queue` event. None: nothing has changed."""
    if change is not None:
        log.info("queue changed", project_id=project_id, **change)


def log_followed_changes(run_ids: Sequence[str], conn: AnyConnection | None = None) -> None:
    """Logs the changes that the ends, or revivals, of these runs have brought about."""
    for row in fetch("queue_changes", {"ids": list(run_ids)}, conn):
        log_change(row["project_id"], row["data"])
