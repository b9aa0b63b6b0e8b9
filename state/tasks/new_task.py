"""A new task, as a caller describes it: checked, and completed from the actor's declaration."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any

from state.access.caller import SYSTEM, Caller
from state.access.permissions import choose_tenant, require_may_prioritize
from state.database import Row
from state.errors import InvalidPayload
from state.gates import Gate
from state.gates.declarations import make_target_gate, make_tenant_gate
from state.tasks import catalog
from state.tasks.admission import require_may_run_payload
from state.tasks.ids import new_task_id
from state.tasks.priorities import MEDIUM, parse_priority
from state.tracing import get_traceparent
from state.webhooks.subscription import check_webhook

_LONGEST_DELAY = 10 * 365 * 24 * 3600.0  # seconds; a longer delay is a mistake


@dataclass(slots=True)
class NewTask:
    """A task to submit. Fields that are None get the value that the actor declares."""

    actor: str
    payload: Any
    queue: str | None = None
    priority: int | str | None = None  # or its name
    max_attempts: int | None = None
    delay_seconds: float | None = None
    available_at: datetime | None = None
    max_age_seconds: float | None = None
    tenant: str | None = None
    target: str | None = None
    dedup_key: str | None = None
    dedup_ttl_seconds: float = 24 * 3600.0
    workflow_id: str | None = None  # a running workflow that the task joins
    webhook_url: str | None = None  # where moves of the task are reported
    webhook_events: Sequence[str] | None = None  # the statuses to report; None: those in which the task is finished

    @property
    def goes_alone(self) -> bool:
        """Whether submitting it needs a transaction of its own: it takes a key, or locks a workflow."""
        return self.dedup_key is not None or self.workflow_id is not None

    def to_row(self, caller: Caller = SYSTEM) -> Row:
        """Returns the row to insert, with a new id. Raises UnknownActor or InvalidPayload; Forbidden if the caller may
        not give the actor or the agent work, or asks for another tenant or for a priority that it may not have."""
        spec = catalog.get(self.actor)
        if spec.created_by is not None:
            raise _make_error("actor", f"tasks of {spec.name} are created by {spec.created_by}")
        self._check()
        tenant = choose_tenant(caller, self.tenant)
        request, payload = spec.validate(self.payload)
        require_may_run_payload(caller, spec.name, payload)
        run = payload.get("workflow_run_id")
        if run is not None and not (isinstance(run, str) and len(run) <= 200):  # there is an index on it
            raise _make_error("payload.workflow_run_id", "must be at most 200 characters")
        priority = self._parse_priority()
        require_may_prioritize(caller, priority)
        if priority is None:
            priority = MEDIUM if spec.priority is None else spec.priority(request)
        gates = self._add_own_gates(spec.ask_gates(request), tenant)
        webhook_url, webhook_events = check_webhook(self.webhook_url, self.webhook_events)
        return {
            "id": new_task_id(),
            "actor": spec.name,
            "queue": self.queue or spec.queue,
            "priority": priority,
            "tenant": tenant,
            "target": self.target,
            "payload": payload,
            "max_attempts": self.max_attempts or spec.max_attempts,
            "delay_seconds": self.delay_seconds,
            "available_at": self.available_at.isoformat() if self.available_at else None,
            "max_age_seconds": self.max_age_seconds if self.max_age_seconds is not None else spec.max_age(),
            "gates": [gate.key for gate in gates],
            "gate_limits": [gate.limit for gate in gates],
            "dedup_key": self.dedup_key,
            "dedup_ttl_seconds": self.dedup_ttl_seconds,
            "workflow_id": self.workflow_id,
            "webhook_url": webhook_url,
            "webhook_events": webhook_events,
            "traceparent": get_traceparent(),
        }

    def _add_own_gates(self, gates: list[Gate], tenant: str | None) -> list[Gate]:
        if tenant is not None:
            gates.append(make_tenant_gate(tenant))
        if self.target is not None:
            gates.append(make_target_gate(tenant, self.target))
        gates.sort(key=attrgetter("key"))
        return gates

    def _check(self) -> None:
        if self.max_attempts is not None and not 1 <= self.max_attempts <= 1000:
            raise _make_error("max_attempts", "must be 1 to 1000")
        if self.queue is not None and self.queue not in catalog.list_queues():
            raise _make_error("queue", f"no worker takes it; known: {', '.join(catalog.list_queues())}")
        if self.available_at is not None and self.available_at.tzinfo is None:
            raise _make_error("available_at", "needs a time zone")
        if self.available_at is not None and self.delay_seconds is not None:
            raise _make_error("available_at", "give it or delay_seconds")
        self._check_ranges()

    def _parse_priority(self) -> int | None:
        if self.priority is None:
            return None
        try:
            return parse_priority(self.priority)
        except ValueError as refused:
            raise _make_error("priority", str(refused)) from None

    def _check_ranges(self) -> None:
        for field, seconds in (
            ("delay_seconds", self.delay_seconds),
            ("max_age_seconds", self.max_age_seconds),
            ("dedup_ttl_seconds", self.dedup_ttl_seconds),
        ):
            if seconds is not None and not 0 <= seconds <= _LONGEST_DELAY:
                raise _make_error(field, f"must be 0 to {_LONGEST_DELAY:g} seconds")
        for field, name in (("tenant", self.tenant), ("target", self.target), ("dedup_key", self.dedup_key)):
            if name is not None and not (0 < len(name) <= 200 and name.isprintable()):
                raise _make_error(field, "must be 1 to 200 characters")


def _make_error(field: str, message: str) -> InvalidPayload:
    return InvalidPayload(f"{field}: {message}", field)
