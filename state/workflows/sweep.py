"""The sweep of workflows: approvals expire, and a running workflow of which nothing lives is made to go on."""

from state.database import fetch, fetch_one, retrying
from state.logs import log
from state.workflows.hints import announce_workflow

BATCH = 500  # running workflows to look at in one turn

_fetch = retrying(fetch)
_fetch_one = retrying(fetch_one)


def sweep_workflows(after: str = "") -> tuple[list[str], str]:
    """Looks at the next running workflows after an id. Returns those that have changed, and where to go on: an empty
    text after the last one. Each is advanced in a transaction of its own; one that is locked waits for the next."""
    rows = _fetch("sweep_workflows", {"after": after, "limit": BATCH})
    changed = [row["id"] for row in rows if row["found"] and _advance(row["id"])]
    for workflow_id in changed:
        log.info("workflow advanced by the sweep", workflow_id=workflow_id)
        announce_workflow(workflow_id)
    looked_at = sorted(row["id"] for row in rows if not row["expired"])
    return changed, looked_at[-1] if len(looked_at) >= BATCH else ""


def _advance(workflow_id: str) -> bool:
    row = _fetch_one("workflow_advance", {"id": workflow_id})
    return row is not None and bool(row["changed"])
