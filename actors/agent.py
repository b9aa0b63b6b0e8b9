"""Agent tasks: an agent by name, one of its task types, an input."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from actors.agents import find_agent
from actors.refusals import refused_field
from broker import Context, task
from state.tasks.catalog import RetryPolicy

AGENT_POLICY = RetryPolicy(default=tuple(5.0 * attempt**2 for attempt in range(1, 21)))


class AgentRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    agent_name: str
    task_type: str
    input: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _the_agent_can_do_this(self) -> "AgentRequest":
        skill = find_agent(self.agent_name, self.task_type)
        try:
            skill.request.model_validate(self.input)
        except ValidationError as refused:
            raise refused_field("input", refused.errors()[0]["loc"], refused.errors()[0]["msg"]) from None
        return self


@task(queue="agents", max_attempts=3, policy=AGENT_POLICY, time_limit=3600)
def agent(ctx: Context, request: AgentRequest) -> Any:
    """Runs one task of an agent."""
    skill = find_agent(request.agent_name, request.task_type)
    return skill.run(ctx, skill.request.model_validate(request.input))
