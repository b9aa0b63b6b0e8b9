"""Agents on the chat API share its gate with the summaries: while the API is away, they wait, and lose no attempts."""

from collections.abc import Callable

from state import submit
from state.gates.reads import get_gate
from tests.providers.servers import ChatServer
from tests.support.clock import Clock
from tests.support.eventually import eventually
from tests.support.following import get_error, wait_for_attempt, wait_for_status, wait_until_finished
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]
GATE = "provider:openrouter"


def write(prompt: str = "Tell me of the sea.") -> str:
    return submit("agent", {"agent_name": "writer", "task_type": "complete", "input": {"prompt": prompt}}).task_id


def summarize() -> str:
    return submit("summarize", {"content": "The sea is wide."}).task_id


def wait_together(ids: list[str]) -> None:
    for task_id in ids:
        waiting = wait_for_status(task_id, "waiting")
        assert waiting.attempt == 0
        assert waiting.waiting is not None
        assert waiting.waiting["gate"] == GATE


def test_the_gate_is_declared_when_a_worker_starts(worker: Start, chat_server: ChatServer) -> None:
    worker(actors="actors")
    assert eventually(lambda: get_gate(GATE))["breaker_state"] == "closed"
    assert wait_until_finished(write()).gates == [GATE]


def test_a_request_to_wait_costs_the_others_no_attempt(
    worker: Start,
    chat_server: ChatServer,
    clock: Clock,
) -> None:
    worker(actors="actors")
    chat_server.faults.retry_after = "120"
    chat_server.faults.add("chat", 429)
    first = write()
    refused = wait_for_attempt(first)
    assert (refused.status, get_error(refused)["type"]) == ("scheduled", "RateLimited")
    others = [write(), summarize(), write()]
    wait_together(others)
    local = {"agent_name": "writer", "task_type": "complete", "input": {"prompt": "The sea.", "provider": "local"}}
    assert wait_until_finished(submit("agent", local).task_id).gates == []  # has nothing to do with the API
    assert len(chat_server.requests) == 1
    clock.advance(130)
    for task_id in others:
        task = wait_until_finished(task_id)
        assert (task.status, task.attempt) == ("completed", 1)
    assert wait_until_finished(first).attempt == 2


def test_an_outage_costs_the_others_no_attempt(
    worker: Start,
    chat_server: ChatServer,
    clock: Clock,
) -> None:
    worker(actors="actors", breaker_volume=3)
    chat_server.faults.add("chat", 500, 500, 500)
    failing = [write("one"), summarize(), write("two")]
    for task_id in failing:
        assert wait_for_attempt(task_id).status == "scheduled"
    eventually(lambda: get_gate(GATE)["breaker_state"] == "open", what="the breaker is open")
    others = [write(), summarize(), write()]
    wait_together(others)
    assert len(chat_server.requests) == 3
    clock.advance(90)
    for task_id in others:
        task = wait_until_finished(task_id)
        assert (task.status, task.attempt) == ("completed", 1)
    for task_id in failing:
        assert wait_until_finished(task_id).attempt == 2
