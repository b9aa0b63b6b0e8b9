"""Which tasks a caller may submit, and which it may let run again: those that it could have submitted."""

from collections.abc import Mapping
from typing import Any

from state.access.caller import Caller
from state.access.permissions import may_run_all, require_may_run
from state.agents import catalog as agents
from state.database import fetch, retrying
from state.errors import Forbidden, UnknownActor, UnknownAgent
from state.tasks import catalog
from state.tasks.reads import get_task

_RUN = "project_run"
_OF_AGENTS = ("agent", _RUN)  # actors whose payload names the agent that does the work


_fetch = retrying(fetch)


def require_may_run_payload(caller: Caller, actor: str, payload: Mapping[str, Any]) -> None:
    """Raises Forbidden if the caller may not give the actor work, or the agent that the payload names."""
    if may_run_all(caller):
        return
    try:
        require_may_run(caller, catalog.get(actor))
        if actor in _OF_AGENTS and "agent_name" in payload:
            require_may_run(caller, agents.get(payload["agent_name"], payload["task_type"]))
    except (UnknownActor, UnknownAgent) as unknown:  # nobody can say which role it needs
        raise Forbidden(f"{unknown} Only an operator may let its tasks run.") from None


def require_may_rerun(caller: Caller, task_id: str) -> None:
    """Raises Forbidden if the caller could not have submitted the task. Reads it only if there is something to refuse:
    for an operator this costs nothing."""
    if not may_run_all(caller):
        task = get_task(task_id, caller=caller)
        require_may_run_payload(caller, task.actor, task.payload)
        if task.actor == _RUN:  # it may take other items than the one that its payload names, or has none yet
            for named in _fetch("run_agents", {"id": task_id}):
                require_may_run_payload(caller, _RUN, named)


def list_forbidden_work(caller: Caller) -> list[dict[str, str]] | None:
    """Returns the actors and agents that the caller may not give work, as `dead_letter_fits` leaves them out; None if
    there are none."""
    if may_run_all(caller):
        return None
    forbidden = [{"actor": spec.name} for spec in catalog.list_actors() if not _may_run(caller, spec)]
    return forbidden + [
        {"agent_name": spec.agent_name, "task_type": spec.task_type}
        for spec in agents.list_agents()
        if not _may_run(caller, spec)
    ]


def _may_run(caller: Caller, work: catalog.ActorSpec | agents.AgentSpec) -> bool:
    try:
        require_may_run(caller, work)
    except Forbidden:
        return False
    return True
