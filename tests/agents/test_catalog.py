"""Declaring agents, in this package and in others, and what the catalog says about them."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel, Field

import actors
import state
from broker import Context, agent, run_agent
from broker.testing.actor_run import run_actor
from state.agents import catalog
from state.errors import InvalidDeclaration, InvalidPayload, UnknownAgent
from state.gates import Gate


class Wanted(BaseModel):
    size: int = Field(ge=1)
    names: list[str] = Field(default_factory=list)


class Made(BaseModel):
    text: str


@pytest.fixture(autouse=True)
def own_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "_agents", dict(catalog._agents))


def work(ctx: Context, request: Wanted) -> Made:
    """Makes something."""
    return Made(text="x" * request.size)


def other_work(ctx: Context, request: Wanted) -> Made:
    return Made(text="")


async def async_work(ctx: Context, request: Wanted) -> Made:
    return Made(text="y" * request.size)


def payload(agent_name: str, task_type: str = "make", **given: Any) -> dict[str, Any]:
    return {"agent_name": agent_name, "task_type": task_type, "input": given}


def test_an_agent_declares_everything_about_its_tasks() -> None:
    gates = [Gate("provider:maker", 3)]
    agent("Maker", "make", priority="critical", gates=lambda _: gates, known_gates=lambda: gates, role="operator")(work)
    spec = catalog.get("Maker", "make")
    assert (spec.request, spec.result, spec.priority, spec.role) == (Wanted, Made, 0, "operator")
    assert spec.describe() == {
        "agent_name": "Maker",
        "task_type": "make",
        "description": "Makes something.",
        "priority": 0,
        "role": "operator",
        "gates": ["provider:maker"],
        "input_schema": Wanted.model_json_schema(),
        "output_schema": Made.model_json_schema(),
    }
    assert catalog.ask_gates("Maker", "make", {"size": 1}) == gates
    assert gates[0] in catalog.list_known_gates()
    assert spec in catalog.list_agents()
    row = state.NewTask("agent", payload("Maker", size=2)).to_row()
    assert (row["priority"], row["gates"], row["max_attempts"], row["queue"]) == (0, ["provider:maker"], 3, "agents")


def test_the_same_name_twice_is_an_error_that_names_both() -> None:
    agent("Maker", "make")(work)
    agent("Maker", "make")(work)  # a module that is loaded again
    agent("Maker", "repair")(other_work)
    with pytest.raises(InvalidDeclaration, match=r"twice: \S+\.work \(\S+\) and \S+\.other_work \(\S+\) declare it"):
        agent("Maker", "make")(other_work)
    assert run_actor(actors.agent.agent, payload("Maker", size=1)).result == {"text": "x"}  # the first one stays


@pytest.mark.parametrize("name", ["", "x" * 201, "a\nb", "a\x00"])
def test_names_that_cannot_be(name: str) -> None:
    with pytest.raises(InvalidDeclaration, match="agent name must be 1 to 200 printable characters"):
        agent(name, "make")(work)
    with pytest.raises(InvalidDeclaration, match="task type must be 1 to 200 printable characters"):
        agent("Maker", name)(work)


def test_names_of_200_characters(database_url: str) -> None:
    name, kind = "ä" * 200, "ü" * 200
    agent(name, kind)(work)
    task = state.submit("agent", payload(name, kind, size=1))
    assert [found.task_id for found in state.list_tasks(agent_name=name, task_type=kind)] == [task.task_id]


def test_functions_that_say_too_little() -> None:
    def no_result(ctx: Context, request: Wanted):  # type: ignore[no-untyped-def]  # noqa: ANN202
        pass

    def no_request(ctx: Context, request: dict[str, Any]) -> Made:
        raise AssertionError("never called")

    for function in (no_result, no_request):
        with pytest.raises(TypeError, match="pydantic model"):
            agent("Maker", function.__name__)(function)
    with pytest.raises(ValueError, match="critical, high, medium or low"):
        agent("Maker", "make", priority="urgent")(work)


def test_what_there_is_not() -> None:
    agent("Maker", "make")(work)
    with pytest.raises(UnknownAgent, match=r"no agent 'Nobody'. Known agents: .*Maker.*text") as nobody:
        catalog.get("Nobody", "make")
    assert (nobody.value.field, "Maker" in nobody.value.known) == ("agent_name", True)
    with pytest.raises(UnknownAgent, match=r"'Maker' has no task type 'break'\. It has: make\.") as nothing:
        catalog.check_input("Maker", "break", {})
    assert (nothing.value.field, nothing.value.known) == ("task_type", ["make"])


@pytest.mark.parametrize(
    ("given", "field"),
    [({}, "size"), ({"size": 0}, "size"), ({"size": 1, "names": ["a", 5]}, "names.1"), ([], "")],
)
def test_an_input_that_does_not_fit(given: Any, field: str) -> None:
    agent("Maker", "make")(work)
    with pytest.raises(InvalidPayload) as refused:
        catalog.check_input("Maker", "make", given, at="steps.2.input")
    assert refused.value.field == ".".join(["steps.2.input", *([field] if field else [])])


def test_an_input_that_cannot_be_stored() -> None:
    agent("Maker", "make")(work)
    with pytest.raises(InvalidPayload) as refused:
        catalog.check_input("Maker", "make", {"size": 1, "names": ["a\x00"]})
    assert refused.value.field == "input.names[0]"


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        (payload("Nobody"), "payload.agent_name"),
        (payload("text", "make"), "payload.task_type"),
        (payload("text", "statistics", text=5), "payload.input.text"),
        (payload("writer", "complete", prompt=""), "payload.input.prompt"),
    ],
)
def test_a_submit_names_the_field(asked: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidPayload) as refused:
        state.NewTask("agent", asked).to_row()
    assert refused.value.field == field


def test_sync_and_async_agents_run(database_url: str) -> None:
    agent("Maker", "make")(work)
    agent("Maker", "make later")(async_work)
    assert run_actor(actors.agent.agent, payload("Maker", size=3)).result == {"text": "xxx"}
    assert run_actor(actors.agent.agent, payload("Maker", "make later", size=2)).result == {"text": "yy"}
    with pytest.raises(UnknownAgent):
        asyncio.run(run_agent(None, "Maker", "nothing", {}))  # type: ignore[arg-type]


def test_the_built_in_agents() -> None:
    found = {(spec.agent_name, spec.task_type): spec for spec in catalog.list_agents()}
    assert {("command", "run"), ("text", "statistics"), ("text", "extract"), ("writer", "complete")} <= set(found)
    assert (found["command", "run"].role, found["text", "extract"].role) == ("operator", "submitter")
    text = "Write to ada@example.org or see https://example.org/a, by 2030-01-31: 1,234.50 of 7."
    assert run_actor(actors.agent.agent, payload("text", "extract", text=text)).result == {
        "emails": ["ada@example.org"],
        "urls": ["https://example.org/a"],
        "dates": ["2030-01-31"],
        "numbers": ["1,234.50", "7"],
    }
