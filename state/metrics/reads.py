"""Reads what was measured."""

from datetime import UTC, datetime
from typing import Literal, NamedTuple
from urllib.parse import quote, unquote

from pydantic import BaseModel, ConfigDict, Field

from state.access.caller import SYSTEM, Caller
from state.access.permissions import require_no_tenant
from state.database import fetch, retrying

Resolution = Literal["minute", "hour", "day"]

DEFAULT_LIMIT = 100
_FORMAT = "%Y-%m-%dT%H:%MZ"


_SPANS: dict[Resolution, str] = {"minute": "1 hour", "hour": "1 day", "day": "30 days"}


class Place(NamedTuple):
    """The place of a row in the list: newest first, then by name."""

    period: datetime
    actor: str
    agent_name: str
    task_type: str

    def __str__(self) -> str:
        """In ASCII, for cursors."""
        names = (quote(name, safe="") for name in self[1:])
        return "/".join([self.period.astimezone(UTC).strftime(_FORMAT), *names])

    @classmethod
    def parse(cls, text: str) -> "Place":
        """Raises ValueError if the text is no place."""
        period, *names = text.split("/")
        names = [unquote(name) for name in names]
        if len(names) != len(cls._fields) - 1 or any("\0" in name for name in names):
            raise ValueError(f"not a place in the metrics: {text!r}")
        return cls(datetime.strptime(period, _FORMAT).replace(tzinfo=UTC), *names)


class TaskMetrics(BaseModel):
    """What happened to the tasks of an actor, or of a task type of an agent, in a minute, an hour or a day."""

    model_config = ConfigDict(frozen=True)

    period: datetime = Field(description="The beginning of the minute, the hour or the day, in UTC.")
    actor: str
    agent_name: str = Field(description="Empty for actors other than `agent`.")
    task_type: str = Field(description="Of the agent; empty for other actors.")
    tasks_created: int
    tasks_completed: int
    tasks_failed: int = Field(description="Tasks that have died, whether they had started or not.")
    attempts: int = Field(description="Executions that have completed, failed or lost their worker.")
    attempts_failed: int = Field(description="Executions that have failed or lost their worker.")
    error_rate: float | None = Field(description="attempts_failed / attempts; null without attempts.")
    average_latency: float | None = Field(
        description="Seconds from entering the queue to the end, of the tasks that were completed."
    )
    greatest_latency: float | None
    worker_heartbeat_delay: float | None = Field(
        description="The greatest age of a worker's last pulse, in seconds, over all workers of the cluster."
    )
    average_heartbeat_delay: float | None = Field(description="Likewise, on average over all samples.")

    @property
    def place(self) -> Place:
        return Place(self.period, self.actor, self.agent_name, self.task_type)


@retrying
def list_metrics(
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    resolution: Resolution = "minute",
    actor: str | None = None,
    agent_name: str | None = None,
    task_type: str | None = None,
    before: Place | None = None,
    limit: int = DEFAULT_LIMIT,
    caller: Caller = SYSTEM,
) -> list[TaskMetrics]:
    """Newest first, then by actor, agent and task type: all whole periods that overlap with the time from `since` to
    `until`. Without `until` up to now; without `since` an hour of minutes, a day of hours or 30 days before `until`.
    Lists only minutes that are measured, and only actors and agents of which something happened. `before`: the last
    place of the previous page."""
    require_no_tenant(caller)
    rows = fetch(
        "metrics",
        {
            "since": since,
            "until": until,
            "span": _SPANS[resolution],
            "resolution": resolution,
            "actor": actor,
            "agent_name": agent_name,
            "task_type": task_type,
            "before_period": before and before.period,
            "before_actor": before and before.actor,
            "before_agent": before and before.agent_name,
            "before_type": before and before.task_type,
            "limit": limit,
        },
    )
    return [TaskMetrics.model_validate(row) for row in rows]
