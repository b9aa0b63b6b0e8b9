"""Decisions on steps of kind `approval`."""

import re
from typing import Literal

from state.access.caller import SYSTEM, Caller
from state.database import Row, fetch_one, retrying
from state.errors import IllegalStep, InvalidPayload, StepNotFound, WorkflowNotFound
from state.logs import log
from state.workflows.control import require_may_go_on
from state.workflows.definition import KEY
from state.workflows.hints import announce_workflow
from state.workflows.reads import StoredWorkflow, get_workflow

Decision = Literal["approved", "rejected"]
_VERBS: dict[Decision, str] = {"approved": "approve", "rejected": "reject"}
_LONGEST_NAME, _LONGEST_NOTE = 200, 2000


def approve(workflow_id: str, key: str, *, by: str, note: str | None = None, caller: Caller = SYSTEM) -> StoredWorkflow:
    """Completes an approval that waits. Approving it twice is the same as once. Raises IllegalStep if it was decided
    otherwise, has expired, or does not wait; Forbidden as resume_workflow does. What is recorded of who has decided
    names the caller's key as well."""
    return _decide(workflow_id, key, "approved", by, note, caller)


def reject(workflow_id: str, key: str, *, by: str, note: str | None = None, caller: Caller = SYSTEM) -> StoredWorkflow:
    """Rejects an approval that waits: the step has failed, and what depends on it does not start."""
    return _decide(workflow_id, key, "rejected", by, note, caller)


def _decide(
    workflow_id: str, key: str, decision: Decision, by: str, note: str | None, caller: Caller
) -> StoredWorkflow:
    for field, text, limit in (("by", by, _LONGEST_NAME), ("note", note or "-", _LONGEST_NOTE)):
        if not (text.strip() and len(text) <= limit and "\0" not in text):
            raise InvalidPayload(f"{field}: must be 1 to {limit} characters", field)
    if re.fullmatch(KEY, key) is None:  # it may have characters that Postgres cannot store
        get_workflow(workflow_id, caller=caller)
        raise StepNotFound(workflow_id, key)
    if decision == "approved":
        require_may_go_on(workflow_id, caller)
    who = by if caller.key_id is None or caller.name == by else f"{by} (key {caller.name})"
    row = _write(workflow_id, key, decision, who, note, caller)
    if row is None:
        raise WorkflowNotFound(workflow_id)
    if row["kind"] is None:
        raise StepNotFound(workflow_id, key)
    announce_workflow(workflow_id)  # also if it was refused: the step may have expired just now
    if not row["decided"]:
        status = row["status"] if row["kind"] == "approval" else "not an approval"
        raise IllegalStep(workflow_id, key, _VERBS[decision], status)
    log.info("approval decided", workflow_id=workflow_id, step=key, decision=decision, by=who)
    return get_workflow(workflow_id, caller=caller)


@retrying
def _write(workflow_id: str, key: str, decision: Decision, by: str, note: str | None, caller: Caller) -> Row | None:
    decided = {"id": workflow_id, "step": key, "decision": decision, "by": by, "note": note}
    return fetch_one("workflow_decide", {**decided, "scope": caller.tenant})
