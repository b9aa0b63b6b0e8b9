"""The agents. Each has a name, and a skill for each of its task types. An agent's code cannot create tasks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from actors.agents import command, text, writer
from broker import Context


@dataclass(frozen=True, slots=True)
class Skill:
    request: type[BaseModel]
    run: Callable[[Context, Any], Any]


_AGENTS: dict[str, dict[str, Skill]] = {
    "command": {"run": Skill(command.RunInput, command.run)},
    "text": {"statistics": Skill(text.StatisticsInput, text.count_words)},
    "writer": {"complete": Skill(writer.CompleteInput, writer.complete)},
}


def find_skill(agent_name: str, task_type: str) -> Skill:
    """Returns the skill. Raises ValueError if the agent or its task type does not exist."""
    try:
        skills = _AGENTS[agent_name]
    except KeyError:
        raise ValueError(f"There is no agent {agent_name!r}. Known agents: {', '.join(sorted(_AGENTS))}.") from None
    try:
        return skills[task_type]
    except KeyError:
        raise ValueError(
            f"Agent {agent_name!r} has no task type {task_type!r}. It has: {', '.join(sorted(skills))}."
        ) from None
