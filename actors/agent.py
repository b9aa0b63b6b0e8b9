"""Agent tasks: an agent by name, one of its task types, an input."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from actors.field_errors import make_field_error
from broker import AsyncContext, run_agent, task
from state.agents import catalog
from state.errors import InvalidPayload, UnknownAgent
from state.gates import Gate
from state.tasks.catalog import RetryPolicy

AGENT_POLICY = RetryPolicy(default=tuple(5.0 * attempt**2 for attempt in range(1, 21)))


class AgentRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    agent_name: str = Field(min_length=1, max_length=200, description="See GET /api/v1/agents.")
    task_type: str = Field(min_length=1, max_length=200)
    input: dict[str, Any] = Field(default_factory=dict, description="Must fit the agent's input schema.")
    _parsed: BaseModel = PrivateAttr()

    @model_validator(mode="after")
    def _check_input(self) -> "AgentRequest":
        try:
            self._parsed = catalog.check_input(self.agent_name, self.task_type, self.input)
        except UnknownAgent as unknown:
            raise make_field_error(unknown.field, (), str(unknown)) from None
        except InvalidPayload as refused:
            raise make_field_error(refused.field, (), str(refused).removeprefix(f"{refused.field}: ")) from None
        return self

    @property
    def parsed(self) -> BaseModel:
        """The input as the agent's model."""
        return self._parsed


def ask_gates(request: AgentRequest) -> list[Gate]:
    return catalog.ask_gates(request.agent_name, request.task_type, request.parsed)


def find_priority(request: AgentRequest) -> int:
    return catalog.get(request.agent_name, request.task_type).priority


@task(
    queue="agents",
    max_attempts=3,
    policy=AGENT_POLICY,
    time_limit=3600,
    priority=find_priority,
    gates=ask_gates,
    known_gates=catalog.list_known_gates,
)
async def agent(ctx: AsyncContext, request: AgentRequest) -> Any:
    """Runs one task of an agent."""
    return await run_agent(ctx, request.agent_name, request.task_type, request.parsed)
