"""The catalog of agents that every process has. The `@agent` decorator registers them. An agent has a name, and one
entry here for each of its task types."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from state import jsonsafe
from state.access.caller import Caller
from state.access.permissions import require_may_run
from state.errors import InvalidDeclaration, InvalidPayload, UnknownAgent
from state.gates import Gate
from state.tasks.catalog import Role
from state.tasks.priorities import MEDIUM

_LONGEST_NAME = 200  # characters; there is an index on the names


@dataclass(frozen=True, slots=True)
class AgentSpec:
    agent_name: str
    task_type: str
    request: type[BaseModel]
    priority: int = MEDIUM  # of a task for which nobody gives one
    gates: Callable[[Any], Iterable[Gate]] | None = None  # the gates of an input
    role: Role = "submitter"  # the role that a caller needs to give it work
    description: str = ""
    result: type[BaseModel] | None = None
    known_gates: Callable[[], Iterable[Gate]] | None = None  # declared when a worker starts
    source: str = ""  # where the function is declared: module.name (file:line)

    @property
    def title(self) -> str:
        return f"agent {self.agent_name} ({self.task_type})"

    def describe(self) -> dict[str, Any]:
        """Returns what people and programs need to know to give it work."""
        return {
            "agent_name": self.agent_name,
            "task_type": self.task_type,
            "description": self.description,
            "priority": self.priority,
            "role": self.role,
            "gates": [gate.key for gate in self.known_gates()] if self.known_gates else [],
            "input_schema": self.request.model_json_schema(),
            "output_schema": self.result.model_json_schema() if self.result else None,
        }


_agents: dict[tuple[str, str], AgentSpec] = {}


def register(spec: AgentSpec) -> None:
    """Raises InvalidDeclaration if the name is not possible, or declared by another function as well."""
    for field, name in (("agent name", spec.agent_name), ("task type", spec.task_type)):
        if not (0 < len(name) <= _LONGEST_NAME and name.isprintable()):
            raise InvalidDeclaration(f"{spec.source}: the {field} must be 1 to {_LONGEST_NAME} printable characters")
    known = _agents.setdefault((spec.agent_name, spec.task_type), spec)
    if known.source != spec.source:
        raise InvalidDeclaration(
            f"Agent {spec.agent_name!r} has the task type {spec.task_type!r} twice: "
            f"{known.source} and {spec.source} declare it."
        )
    _agents[spec.agent_name, spec.task_type] = spec


def get(agent_name: str, task_type: str) -> AgentSpec:
    try:
        return _agents[agent_name, task_type]
    except KeyError:
        raise UnknownAgent(agent_name, task_type, _agents) from None


def list_agents() -> list[AgentSpec]:
    return [_agents[key] for key in sorted(_agents)]


def admit(agent_name: str, task_type: str, caller: Caller) -> AgentSpec:
    """Returns the agent for a caller who gives it work, in a step of a workflow or an item of a project. Raises
    Forbidden if the caller's role does not allow it."""
    spec = get(agent_name, task_type)
    require_may_run(caller, spec)
    return spec


def check_input(agent_name: str, task_type: str, input: Any, *, at: str = "input") -> BaseModel:  # noqa: A002
    """Returns the input as the agent's model. Raises UnknownAgent, or InvalidPayload with the path of the field below
    `at`."""
    spec = get(agent_name, task_type)
    try:
        request = spec.request.model_validate(input)
    except ValidationError as refused:
        first = refused.errors()[0]
        inner = first.get("ctx", {}).get("field")  # from a validator that looks into its fields
        field = ".".join([at, *(str(part) for part in first["loc"]), *([inner] if inner else [])])
        raise InvalidPayload(f"{field}: {first['msg']}", field) from None
    try:
        jsonsafe.check(input)
    except jsonsafe.UnsafeJson as unsafe:
        raise InvalidPayload(f"{at}: {unsafe}", f"{at}.{unsafe.path}" if unsafe.path else at) from None
    return request


def ask_gates(agent_name: str, task_type: str, input: Any) -> list[Gate]:  # noqa: A002
    """Returns the gates that the agent names for an input, which is a dict or the agent's model."""
    spec = get(agent_name, task_type)
    return list(spec.gates(spec.request.model_validate(input))) if spec.gates else []


def list_known_gates() -> list[Gate]:
    """Returns the gates of all agents that are known without an input, each once."""
    known = {gate.key: gate for spec in list_agents() if spec.known_gates for gate in spec.known_gates()}
    return list(known.values())
