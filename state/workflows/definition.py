"""A workflow as its author declares it, in Python or as JSON."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from state.tasks.priorities import parse_priority

MOST_STEPS = 500
MOST_BRANCHES = 1000  # tasks of one step with for_each; state/functions/start_step.sql has it as well
KEY = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"  # fits into a path of HTTP, and contains no space

_MAX_SECONDS = 10 * 365 * 24 * 3600.0

Kind = Literal["task", "approval"]


class Step(BaseModel):
    """A task of an agent, or with kind `approval` a decision of a person. It starts when all steps in `after` are
    completed. Anywhere in its input, `{"$result": "<step>", "path": "<a.b.0>"}` stands for an earlier step's result, or
    for a part of it."""

    model_config = ConfigDict(strict=True, extra="forbid")

    key: str = Field(pattern=KEY)
    kind: Kind = "task"
    agent_name: str | None = Field(None, max_length=200)
    task_type: str | None = Field(None, max_length=200)
    input: dict[str, Any] = Field(default_factory=dict)
    after: list[str] = Field(default_factory=list, max_length=MOST_STEPS)
    for_each: list[Any] | dict[str, Any] | None = Field(
        None, description='A list, or the `$result` that is one: a task for each; `{"$item": true}` is the element.'
    )
    priority: int | str | None = Field(
        None, description="0 to 3, or critical, high, medium, low; the agent has a default."
    )
    max_attempts: int | None = Field(None, ge=1, le=1000)
    expires_seconds: float | None = Field(
        None, gt=0, le=_MAX_SECONDS, description="Of an approval: how long it waits for a decision."
    )

    @field_validator("priority")
    @classmethod
    def _parse_priority(cls, value: int | str | None) -> int | None:
        return None if value is None else parse_priority(value)


class Escalation(BaseModel):
    """Who takes over when too many steps have failed. The workflow is `escalated` then, instead of `failed`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    to: str = Field(min_length=1, max_length=200)
    note: str | None = Field(None, max_length=2000)


class Workflow(BaseModel):
    """Steps with dependencies. `failure_threshold` steps that fail end it; fewer are tolerated, and it goes on with
    what does not depend on them."""

    model_config = ConfigDict(strict=True, extra="forbid")

    name: str = Field(min_length=1, max_length=200)
    steps: Annotated[list[Step], Field(min_length=1, max_length=MOST_STEPS)]
    failure_threshold: int = Field(1, ge=1, le=MOST_STEPS)
    escalation: Escalation | None = None
    tenant: str | None = Field(None, min_length=1, max_length=200)
