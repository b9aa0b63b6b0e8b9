"""Workers die in the middle of an assistant's work, and its service fails: no turn is paid for twice."""

from collections.abc import Callable
from pathlib import Path

import pytest

from state import get_attempts, get_task
from state.gates.reads import get_gate
from tests.agents.assistants import COUNT_WORDS, TOKENS, start_assistant
from tests.providers.servers import ChatServer
from tests.support.clock import Clock
from tests.support.eventually import eventually
from tests.support.following import get_error, wait_for_attempt, wait_for_status, wait_until_finished
from tests.support.workers import TEST_ACTORS, WorkerTree

Start = Callable[..., WorkerTree]

SAVES = [
    f"save of turn_{turn} with {results} results" for turn, results in ((1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (3, 0))
]
TOOLS = ("write_file", "run_command", "read_file")
POINTS = [
    *(f"{when} {save}" for save in SAVES for when in ("before", "after")),
    *(f"after {tool}" for tool in TOOLS),
    "before the end",
]
# The answer was read to its end, and the process died before it was saved. Nothing can be known of it afterwards.
PAID_AGAIN = {f"before save of turn_{turn} with 0 results": turn - 1 for turn in (1, 2, 3)}
RUN_AGAIN = {
    "after write_file": "write_file",
    "before save of turn_1 with 1 results": "write_file",
    "after run_command": "run_command",
    "before save of turn_1 with 2 results": "run_command",
    "after read_file": "read_file",
    "before save of turn_2 with 1 results": "read_file",
}


def test_killed_at_any_step_it_ends_with_the_same_result_and_pays_each_turn_once(
    worker: Start, chat_server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = tmp_path / "plan"
    plan.mkdir()
    monkeypatch.setenv("KILL_PLAN", str(plan))
    chat_server.script = COUNT_WORDS
    for point in POINTS:
        (plan / point).write_text(point)
    tasks = {point: start_assistant(point) for point in POINTS}

    def all_done() -> bool:
        return {get_task(task_id).status for task_id in tasks.values()} == {"completed"}

    while not all_done():  # each worker meets one of the points and dies, but for the last
        tree = worker(threads=1, coroutines=1, actors=f"{TEST_ACTORS},tests.agents.assistant_kills")
        eventually(lambda: tree.process.poll() is not None or all_done(), timeout=60, every=0.1)  # noqa: B023
    assert list(plan.iterdir()) == []
    steps = (tmp_path / "steps.txt").read_text().splitlines()
    expected = get_task(tasks["before the end"]).result
    assert (expected["text"], expected["turns"], len(expected["commands"])) == ("There are 3 words.", 3, 1)
    for point, task_id in tasks.items():
        task = get_task(task_id)
        assert [each["outcome"] for each in get_attempts(task_id)] == ["lost", "completed"]
        assert task.result == expected, point
        assert task.usage["tokens"] == 3 * TOKENS, point
        for turn in range(3):
            assert chat_server.paid[point, turn] == (2 if PAID_AGAIN.get(point) == turn else 1), (point, turn)
        for tool in TOOLS:
            runs = steps.count(f"{point}: after {tool}")
            assert runs == (2 if RUN_AGAIN.get(point) == tool else 1), (point, tool)


@pytest.mark.parametrize(("status", "error_type"), [(503, "ServiceUnavailable"), (429, "RateLimited")])
def test_an_outage_in_the_middle_costs_no_turn_and_others_wait(
    worker: Start, chat_server: ChatServer, clock: Clock, status: int, error_type: str
) -> None:
    chat_server.script = COUNT_WORDS
    chat_server.faults.add("chat", 0, status)  # the second request
    chat_server.faults.retry_after = "600"
    worker()
    task = wait_for_attempt(start_assistant("First."))
    assert (task.status, get_error(task)["type"], task.attempt) == ("scheduled", error_type, 1)
    eventually(lambda: get_gate("provider:openrouter")["closed_until"])
    other = wait_for_status(start_assistant("Second."), "waiting")
    assert (other.attempt, (other.waiting or {})["gate"]) == (0, "provider:openrouter")
    clock.advance(700)
    first, second = wait_until_finished(task.task_id), wait_until_finished(other.task_id)
    assert (first.attempt, second.attempt) == (2, 1)
    assert first.result == second.result
    assert chat_server.paid == {(prompt, turn): 1 for prompt in ("First.", "Second.") for turn in range(3)}
    assert first.usage["tokens"] == 3 * TOKENS


@pytest.mark.parametrize("fault", ["error", "cut", "malformed"])
def test_a_stream_that_breaks_costs_an_attempt_and_that_turn_only(
    worker: Start, chat_server: ChatServer, clock: Clock, fault: str
) -> None:
    chat_server.script = COUNT_WORDS
    chat_server.faults.add("stream", 0, fault)
    worker()
    task = wait_for_attempt(start_assistant("Count."))
    assert (task.status, task.usage["tokens"]) == ("scheduled", TOKENS)
    clock.advance(60)
    task = wait_until_finished(task.task_id)
    assert (task.result["text"], task.attempt) == ("There are 3 words.", 2)
    assert chat_server.paid == {("Count.", turn): 1 for turn in range(3)}
