"""Agent tasks: an agent by name, one of its task types, an input."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from actors.agents import find_skill
from actors.field_errors import make_field_error
from broker import Context, task
from state.tasks.catalog import RetryPolicy

AGENT_POLICY = RetryPolicy(default=tuple(5.0 * attempt**2 for attempt in range(1, 21)))


class AgentRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    agent_name: str
    task_type: str
    input: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_input(self) -> "AgentRequest":
        skill = find_skill(self.agent_name, self.task_type)
        try:
            skill.request.model_validate(self.input)
        except ValidationError as refused:
            raise make_field_error("input", refused.errors()[0]["loc"], refused.errors()[0]["msg"]) from None
        return self


@task(queue="agents", max_attempts=3, policy=AGENT_POLICY, time_limit=3600)
def agent(ctx: Context, request: AgentRequest) -> Any:
    """Runs one task of an agent."""
    skill = find_skill(request.agent_name, request.task_type)
    return skill.run(ctx, skill.request.model_validate(request.input))
