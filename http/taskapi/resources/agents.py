"""Agents: the list of what they can do."""

from typing import Any

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from state.agents import catalog
from state.agents.catalog import AgentSpec
from state.tasks.catalog import Role
from taskapi.api.bodies import send_json
from taskapi.api.operation import PREFIX, Operation
from taskapi.api.paging import Page


class AgentView(BaseModel):
    """One task type of an agent. A task of it is one of the actor `agent`."""

    agent_name: str
    task_type: str
    description: str
    priority: int = Field(description="Of a task for which nobody gives one; 0 comes first.")
    role: Role = Field(description="The role that a caller needs.")
    gates: list[str] = Field(description="The gates that do not depend on the input; a task may have others.")
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None

    @classmethod
    def of(cls, spec: AgentSpec) -> "AgentView":
        return cls(**spec.describe())


async def get_list(_: Request) -> Response:
    return send_json(Page[AgentView](items=[AgentView.of(spec) for spec in catalog.list_agents()]))


OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/agents",
        get_list,
        "List the agents and their task types",
        {200: Page[AgentView]},
        role="reader",
        scope="any",
    ),
]
