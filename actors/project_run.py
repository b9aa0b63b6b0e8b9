"""Runs of projects: each does one item, which is a task of an agent."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from actors.agent import AGENT_POLICY
from broker import AsyncContext, Context, run_agent, task
from broker.execution.interrupts import NotStarted
from state.agents import catalog
from state.database.errors import TRANSIENT
from state.errors import NotReady
from state.gates import Gate
from state.projects.runs import RunItem, begin_run


class RunRequest(BaseModel):
    """A run of a project. Everything but the project is there when the run has taken its item."""

    model_config = ConfigDict(extra="forbid")

    project_id: str
    item_id: str | None = None
    title: str | None = None
    agent_name: str | None = None
    task_type: str | None = None
    input: dict[str, Any] = Field(default_factory=dict)


class RunResult(BaseModel):
    """The result of a run; of a run that found nothing to do, without an item."""

    item_id: str | None
    title: str | None
    status: Literal["completed", "nothing to do"]
    result: Any = None


def ask_gates(request: RunRequest) -> list[Gate]:
    """A run that has taken its item passes the gates of the item's agent. Before that, it has those of the item that
    was next when it was queued."""
    if request.agent_name is None or request.task_type is None:
        return []
    return catalog.ask_gates(request.agent_name, request.task_type, request.input)


@task(
    queue="agents",
    max_attempts=3,
    policy=AGENT_POLICY,
    time_limit=3600,
    gates=ask_gates,
    created_by="POST /api/v1/projects/{id}/run",
)
async def project_run(ctx: AsyncContext, request: RunRequest) -> Any:
    """Runs the next item of a project."""
    item = await ctx.call(_begin)
    if item is None:
        ctx.log.info("a run has nothing to do", project_id=request.project_id)
        return RunResult(item_id=None, title=None, status="nothing to do")
    await ctx.require_gates(catalog.ask_gates(item.agent_name, item.task_type, item.input))
    ctx.progress(0, item.title)
    value = await run_agent(ctx, item.agent_name, item.task_type, item.input)
    return RunResult(item_id=item.item_id, title=item.title, status="completed", result=value)


def _begin(ctx: Context) -> RunItem | None:
    with ctx.shielded():
        try:
            return begin_run(ctx.worker, ctx.task_id, ctx.epoch)
        except (NotReady, *TRANSIENT) as failure:  # such as a project that another session has locked for long
            raise NotStarted from failure
