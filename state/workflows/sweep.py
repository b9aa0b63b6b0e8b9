"""The sweep of workflows: approvals expire, and a running workflow of which nothing lives is made to go on."""

from state.database import fetch, fetch_one, retrying
from state.database.errors import TRANSIENT, DatabaseError
from state.logs import log
from state.workflows.hints import announce_workflow

BATCH = 500  # running workflows to look at in one turn, and expired approvals

_fetch = retrying(fetch)
_fetch_one = retrying(fetch_one)


class WorkflowSweep:
    def __init__(self) -> None:
        self.position = ""  # the last workflow that was looked at; empty: the next turn begins with the first one
        self._refused: set[str] = set()

    def take_turn(self) -> list[str]:
        """Looks at the next running workflows. Returns those that have changed. Each is advanced in a transaction of
        its own; one that is locked waits for the next turn."""
        rows = _fetch("sweep_workflows", {"after": self.position, "limit": BATCH})
        changed = [row["id"] for row in rows if row["found"] and self._advance(row["id"])]
        for workflow_id in changed:
            log.info("workflow advanced by the sweep", workflow_id=workflow_id)
            announce_workflow(workflow_id)
        looked_at = sorted(row["id"] for row in rows if not row["expired"])
        self.position = looked_at[-1] if len(looked_at) >= BATCH else ""
        return changed

    def _advance(self, workflow_id: str) -> bool:
        """One workflow that cannot go on does not hold up the others; the log names it once."""
        try:
            row = _fetch_one("workflow_advance", {"id": workflow_id})
        except TRANSIENT:
            raise
        except DatabaseError as refused:
            if workflow_id not in self._refused:
                log.error("a workflow cannot go on", workflow_id=workflow_id, error=str(refused).strip())
            self._refused.add(workflow_id)
            return False
        return row is not None and bool(row["changed"])
