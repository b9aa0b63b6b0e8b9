"""For tests of workflows: a catalog with one agent, and a worker that runs nothing."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from state.agents import catalog as agents
from state.agents.catalog import AgentSpec
from state.database import Connection, connect
from state.tasks import catalog
from state.tasks.catalog import STANDARD_POLICY, ActorSpec
from state.workflows import StoredWorkflow, Workflow, create_workflow, get_workflow
from tests.support.claims import FreePayload
from tests.support.observer import Observer
from tests.workflows.handworker import HandWorker, NeedsText


@pytest.fixture
def breaks_invariants() -> None:
    """For a test that leaves behind what must never be."""


@pytest.fixture
def catalog_of_agents(
    connection: Observer, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[None]:
    """The agent `free` takes any input, `strict` needs a text. After the test, admin.invariants is empty."""
    monkeypatch.setattr(catalog, "_actors", {})
    monkeypatch.setattr(agents, "_agents", {})
    catalog.register(ActorSpec("agent", "agents", FreePayload, 3, lambda: None, 60, STANDARD_POLICY, ""))
    agents.register(AgentSpec("free", "run", FreePayload, priority=1, source="free"))
    agents.register(AgentSpec("strict", "run", NeedsText, source="strict"))
    yield
    if "breaks_invariants" not in request.fixturenames:
        assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []


@pytest.fixture
def worker_connection(database_url: str) -> Iterator[Connection]:
    with connect("test") as connection:
        yield connection


@pytest.fixture
def hand(catalog_of_agents: None, worker_connection: Connection, connection: Observer) -> HandWorker:
    """A worker that a test moves by hand."""
    return HandWorker(worker_connection, connection)


@pytest.fixture
def create(catalog_of_agents: None) -> Callable[..., StoredWorkflow]:
    """Creates a workflow from steps as JSON, each a task of the agent `free` if nothing else is said."""

    def create(*steps: dict[str, Any], **options: Any) -> StoredWorkflow:
        whole = [step if "kind" in step else {"agent_name": "free", "task_type": "run", **step} for step in steps]
        return create_workflow(Workflow.model_validate({"name": "test", **options, "steps": whole}))

    return create


@pytest.fixture
def statuses() -> Callable[[str], dict[str, str]]:
    return lambda workflow_id: {step.key: step.status for step in get_workflow(workflow_id).steps}
