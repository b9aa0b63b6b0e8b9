"""An agent's code cannot create tasks, wherever it runs; other code in the same process can, meanwhile."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import actors  # noqa: F401  (sets the broker)
import state
from tests.agents import creators  # noqa: F401  (declares the agents)
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.workers import TEST_ACTORS, WorkerTree

ACTORS = f"{TEST_ACTORS},tests.agents.creators"


@pytest.fixture
def start(worker: Callable[..., WorkerTree]) -> Callable[[], WorkerTree]:
    """One process: everything shares it, and the one thread of the shared pool."""
    return lambda: worker(threads=4, actors=ACTORS)


def submit_agent(task_type: str, **given: Any) -> str:
    payload = {"agent_name": "creator", "task_type": task_type, "input": given}
    return state.submit("agent", payload).task_id


def has_tried(task_id: str) -> bool:
    return any(event.kind == "tried" for event in state.get_events(task_id))


def finish(task_id: str) -> state.Task:
    eventually(lambda: state.get_task(task_id).finished, what=f"{task_id} finished")
    return state.get_task(task_id)


def test_an_agent_is_refused_everywhere_and_its_neighbors_are_not(
    start: Callable[[], WorkerTree], connection: Observer, tmp_path: Path
) -> None:
    """The agents come first, so that they start the threads of the executors that all share, and stay in their code
    while the other actors submit."""
    start()
    messages, go = tmp_path / "messages", tmp_path / "go"
    agents = [submit_agent(kind, file=str(messages), wait_for=str(go)) for kind in ("threads", "coroutines")]
    eventually(lambda: all(has_tried(agent) for agent in agents), what="tried")
    assert connection.fetch_one("SELECT count(*) FROM callboard.tasks")["count"] == len(agents)
    others = [state.submit(actor, {"file": str(messages)}).task_id for actor in ("fan_out", "async_fan_out")]
    for other in others:
        outcomes = finish(other).result["outcomes"]
        assert set(outcomes.values()) == {"created"}, outcomes
    assert {state.get_task(agent).status for agent in agents} == {"running"}
    go.touch()
    for agent in agents:
        outcomes = finish(agent).result["outcomes"]
        assert set(outcomes.values()) == {"TasksRefused"}, outcomes
    # Once more: the threads that the agents have used are not marked.
    for other in ("fan_out", "async_fan_out"):
        outcomes = finish(state.submit(other, {"file": str(messages)}).task_id).result["outcomes"]
        assert set(outcomes.values()) == {"created"}, outcomes
    eventually(lambda: messages.exists() and messages.read_text().splitlines() == ["allowed"] * 2, what="messages")


@pytest.mark.parametrize("kind", ["careless", "careless_async"])
def test_a_refused_task_is_dead_with_the_reason(start: Callable[[], WorkerTree], kind: str) -> None:
    start()
    dead = finish(submit_agent(kind, file=""))
    assert dead.status == "dead"
    assert dead.attempt == 1
    assert dead.error is not None
    assert (dead.error["type"], dead.error["category"]) == ("TasksRefused", "permanent")
    assert dead.error["message"] == "Agents do not create tasks; the orchestrator does."


def test_the_thread_that_ran_an_agent_may_submit_afterwards(worker: Callable[..., WorkerTree], tmp_path: Path) -> None:
    """Also if the agent was interrupted, which can happen between any two of its steps."""
    worker(threads=4, coroutines=4, actors=ACTORS)
    waiting = [submit_agent("threads", file="", wait_for=str(tmp_path / "never")) for _ in range(8)]
    for _ in range(2):  # as many threads for code of coroutines as there are coroutines
        running = eventually(lambda: _find_running(waiting, 4), what="four are running")
        for task_id in running:
            state.cancel(task_id)
        for task_id in running:
            assert finish(task_id).status == "canceled"
    for actor in ("fan_out", "async_fan_out") * 8:
        outcomes = finish(state.submit(actor, {"file": str(tmp_path / "messages")}).task_id).result["outcomes"]
        assert set(outcomes.values()) == {"created"}, outcomes


def _find_running(ids: list[str], count: int) -> list[str] | None:
    running = [task_id for task_id in ids if state.get_task(task_id).status == "running" and has_tried(task_id)]
    return running if len(running) == count else None


IN_PROCESSES = """
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from queue import SimpleQueue
from broker.execution import agent_threads
from state.agents.guard import require_may_create, run_free, run_refusing

def outcome(_=None):
    try:
        require_may_create()
    except Exception as refused:
        return type(refused).__name__
    return "free"

def of_callback(pool):
    told = SimpleQueue()
    pool.submit(time.sleep, 0.2).add_done_callback(lambda _: told.put(outcome()))
    return told.get(timeout=60)

def run_both(start):
    with ProcessPoolExecutor(1, get_context(start)) as pool:
        for run in (run_refusing, run_free) * 2:  # an agent starts its thread and its process
            print(start, run(lambda: pool.submit(outcome).result(60)), run(of_callback, pool), flush=True)

if __name__ == "__main__":
    agent_threads.install()
    run_both("fork")
    run_both("forkserver")
"""


def test_processes_that_an_agent_shares_with_others(tmp_path: Path) -> None:
    script = tmp_path / "processes.py"
    script.write_text(IN_PROCESSES)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    ended = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    of_agent, of_others = "TasksRefused TasksRefused", "free free"
    expected = [f"{start} {each}" for start in ("fork", "forkserver") for each in (of_agent, of_others) * 2]
    assert ended.stdout.splitlines() == expected, ended.stderr
