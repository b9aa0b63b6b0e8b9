"""A schedule as a caller describes it: checked, and completed from the actor's declaration, so that the maintainer can
start its tasks without knowing the actor."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from state import jsonsafe
from state.access.caller import SYSTEM, Caller
from state.access.permissions import choose_tenant
from state.database import Parameters
from state.errors import InvalidPayload
from state.schedules.timetable import Timetable
from state.tasks import catalog
from state.tasks.new_task import NewTask

CatchUp = Literal["skip", "one", "all"]
Overlap = Literal["allow", "skip"]

MOST_JITTER = 24 * 3600  # seconds
_LONGEST_NAME = 200
_OPTIONS = ("queue", "priority", "max_attempts")


@dataclass(slots=True)
class Definition:
    """Options that are None get the value that the actor declares."""

    name: str
    cron: str
    actor: str
    payload: dict[str, Any] = field(default_factory=dict)
    timezone: str = "UTC"
    queue: str | None = None
    priority: int | str | None = None  # or its name
    max_attempts: int | None = None
    target: str | None = None
    tenant: str | None = None
    catch_up: CatchUp = "one"
    overlap: Overlap = "allow"
    jitter_seconds: int = 0

    def get_timetable(self) -> Timetable:
        """Raises InvalidPayload."""
        return Timetable(self.cron, self.timezone)

    def to_row(self, caller: Caller = SYSTEM) -> Parameters:
        """Returns the columns. Raises UnknownActor or InvalidPayload, and Forbidden if the caller may not submit such a
        task."""
        self._check()
        self.tenant = choose_tenant(caller, self.tenant)
        options = {name: getattr(self, name) for name in _OPTIONS}
        task = NewTask(self.actor, self.payload, tenant=self.tenant, target=self.target, **options).to_row(caller)
        return {
            **{name: getattr(self, name) for name in ("name", "cron", "timezone", "catch_up", "overlap", "target")},
            **{name: task[name] for name in ("actor", "queue", "priority", "max_attempts", "gates", "gate_limits")},
            "jitter_seconds": self.jitter_seconds,
            "tenant": self.tenant,
            "payload": jsonsafe.dump(task["payload"]),
            "options": jsonsafe.dump(options),
            "max_age": task["max_age_seconds"],
        }

    def to_declared(self) -> dict[str, Any]:
        """Returns what code declares, in the form in which it is stored: what an operator has changed since is what
        differs from it."""
        spec = catalog.get(self.actor)
        declared = {**asdict(self), "payload": spec.validate(self.payload)[1]}
        del declared["name"], declared["tenant"]
        return declared

    def _check(self) -> None:
        if not (0 < len(self.name) <= _LONGEST_NAME and self.name.isprintable()):
            raise _make_error("name", f"must be 1 to {_LONGEST_NAME} printable characters")
        for name, allowed in (("catch_up", get_args(CatchUp)), ("overlap", get_args(Overlap))):
            if getattr(self, name) not in allowed:
                raise _make_error(name, f"must be one of {', '.join(allowed)}")
        if not 0 <= self.jitter_seconds <= MOST_JITTER:
            raise _make_error("jitter_seconds", f"must be 0 to {MOST_JITTER}")


def _make_error(name: str, message: str) -> InvalidPayload:
    return InvalidPayload(f"{name}: {message}", name)
