"""The list of agents, and agent tasks over HTTP."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

Submit = Callable[..., dict[str, Any]]
STATISTICS = {"agent_name": "text", "task_type": "statistics", "input": {"text": "one two"}}


def test_the_list(client: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    page = client.get("/api/v1/agents").json()
    assert page["next_cursor"] is None
    found = {(each["agent_name"], each["task_type"]): each for each in page["items"]}
    command, statistics, writer = found["command", "run"], found["text", "statistics"], found["writer", "complete"]
    assert (command["role"], statistics["role"]) == ("operator", "submitter")
    assert (statistics["priority"], statistics["gates"]) == (2, [])
    assert writer["gates"] == ["provider:openrouter"]
    assert statistics["input_schema"]["required"] == ["text"]
    assert set(statistics["output_schema"]["properties"]) == {"characters", "words", "sentences", "top_words"}
    assert statistics["description"].startswith("Counts characters")


def test_actors_say_their_role(client: httpx2.Client) -> None:
    assert {actor["role"] for actor in client.get("/api/v1/actors").json()["items"]} <= {"submitter", "operator"}


@pytest.mark.parametrize(("given", "number"), [("critical", 0), ("high", 1), ("medium", 2), ("low", 3), (1, 1)])
def test_priorities_by_name(submit: Submit, given: object, number: int) -> None:
    assert submit("agent", STATISTICS, priority=given)["priority"] == number


def test_without_a_priority(submit: Submit) -> None:
    assert submit("agent", STATISTICS)["priority"] == submit("agent", STATISTICS, priority=None)["priority"] == 2


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"agent_name": "nobody"}, "payload.agent_name"),
        ({"task_type": "nothing"}, "payload.task_type"),
        ({"input": {"text": 5}}, "payload.input.text"),
        ({"input": {"text": "a", "size": 1}}, "payload.input.size"),
        ({"agent_name": "x" * 201}, "payload.agent_name"),
        ({"more": 1}, "payload.more"),
    ],
)
def test_refusals_name_the_field(client: httpx2.Client, changes: dict[str, Any], field: str) -> None:
    answer = client.post("/api/v1/tasks", json={"actor": "agent", "payload": STATISTICS | changes})
    assert (answer.status_code, answer.json()["error"], answer.json()["field"]) == (422, "invalid-input", field)


def test_an_edited_payload_is_checked_like_a_new_one(client: httpx2.Client, submit: Submit) -> None:
    task_id = submit("agent", STATISTICS, delay_seconds=100)["task_id"]
    edited = STATISTICS | {"agent_name": "nobody"}
    answer = client.post(f"/api/v1/tasks/{task_id}/retry", json={"payload": edited})
    assert (answer.status_code, answer.json()["field"]) == (422, "payload.agent_name")
