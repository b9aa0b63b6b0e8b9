"""All that a judge must know of a database when a proof is over."""

from state.database import Row, fetch, retrying


@retrying
def read_clock() -> float:
    """Returns the seconds of the database's clock."""
    now: float = fetch("proof_clock", {})[0]["now"]
    return now


@retrying
def list_unfinished() -> dict[str, list[str]]:
    """Returns the ids of tasks by status."""
    return {row["status"]: row["ids"] for row in fetch("proof_statuses", {})}


@retrying
def list_candidates(status: str) -> list[str]:
    """Returns the tasks in this status that somebody may stop."""
    return [row["id"] for row in fetch("proof_candidates", {"status": status})]


def read_tasks() -> list[Row]:
    return fetch("proof_tasks", {})


def read_attempts() -> list[Row]:
    return fetch("proof_attempts", {})


def read_events() -> list[Row]:
    return fetch("proof_events", {})


def read_invariants() -> list[Row]:
    return fetch("proof_invariants", {})
