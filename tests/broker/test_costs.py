"""The number of statements and commits for a task, as Postgres logs them. README has the same numbers."""

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

import actors  # noqa: F401
import tests.support.testactors  # noqa: F401
from state import get_task, submit
from state.database.notifier import flush_hints
from state.tasks.queues import pause_queue
from taskapi.streams.feed import Pace
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.postgres import TestPostgres
from tests.support.workers import WorkerTree
from tests.taskapi.running import RunningServer

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture
def statements(postgres: TestPostgres, connection: Observer) -> Callable[[], list[tuple[str, str]]]:
    """Returns (application, statement) of all statements that this database has got since the fixture was made."""
    name = connection.info.dbname
    connection.execute(f"ALTER DATABASE {name} SET log_statement = 'all'")
    begun = postgres.log_size()

    def read() -> list[tuple[str, str]]:
        entries = re.split(r"(?m)^(?=cb\|)", postgres.log_since(begun))
        lines = [entry.split("|", 3) for entry in entries if entry.startswith("cb|")]
        asked = [(application, text) for _, database, application, text in lines if database == name]
        return [(application, text) for application, text in asked if re.search(r"execute|statement:", text)]

    return read


@pytest.fixture
def other_maintainer(database_url: str) -> Iterator[None]:
    """No worker of the test becomes the maintainer."""
    hold = "UPDATE callboard.maintainer SET worker_id = 'test', expires_at = callboard.now() + interval '3 seconds'"
    stop = threading.Event()

    def renew() -> None:
        with psycopg.connect(database_url, autocommit=True) as session:
            while not stop.wait(0.2):
                session.execute(hold)

    with psycopg.connect(database_url, autocommit=True) as session:
        session.execute(hold)
    renewing = threading.Thread(target=renew)
    renewing.start()
    yield
    stop.set()
    renewing.join()


def test_one_statement_and_one_commit_for_each_step(
    worker: Callable[..., WorkerTree], statements: Callable[[], list[tuple[str, str]]]
) -> None:
    pause_queue("language")  # the embedding of what the agent has done is a task of its own
    worker(threads=1)
    payload = {"agent_name": "text", "task_type": "statistics", "input": {"text": "Once upon a time."}}
    task_id = submit("agent", payload).task_id  # says once how far it is
    eventually(lambda: get_task(task_id).finished)
    flush_hints()
    log = statements()
    of_the_task = {
        "submit": [text for _, text in log if "INSERT INTO callboard.tasks" in text],
        "progress": [text for _, text in log if "callboard.report(" in text],
        "completion": [text for _, text in log if "callboard.settle(" in text],
    }
    assert {step: len(texts) for step, texts in of_the_task.items()} == {"submit": 1, "progress": 1, "completion": 1}
    # Each is its own transaction: no BEGIN was sent by anybody.
    assert not [text for application, text in log if application.startswith("callboard") and "BEGIN" in text]
    starts = [
        text for application, text in log if application == "callboard dispatcher" and "callboard.claim_tasks(" in text
    ]
    assert starts
    hints = [text for _, text in log if "pg_notify" in text]
    assert hints
    assert not [text for text in hints if "callboard." in text]  # statements of their own, so commits of their own


def test_an_idle_worker_sends_its_pulse_and_nothing_else(
    other_maintainer: None, worker: Callable[..., WorkerTree], statements: Callable[[], list[tuple[str, str]]]
) -> None:
    seconds = 8
    worker(threads=1, actors="actors")  # plain Dramatiq actors have queues that are looked at

    def has_settled() -> bool:
        """Whether the dispatcher has connected and claimed once, and the heartbeat has beaten twice since."""
        sent = statements()
        claims = [place for place, (_, text) in enumerate(sent) if "callboard.claim_tasks(" in text]
        beats = [place for place, (application, _) in enumerate(sent) if application == "callboard heartbeat"]
        return bool(claims) and sum(beat > claims[-1] for beat in beats) >= 2

    eventually(has_settled)
    begun = len(statements())
    time.sleep(seconds)
    sent = [(application, text) for application, text in statements()[begun:] if application.startswith("callboard")]
    pulses = [text for application, text in sent if application == "callboard heartbeat"]
    assert 1 <= len(pulses) <= seconds // 2 + 1
    assert len(sent) == len(pulses), sent


def test_an_idle_system_asks_for_pulses_and_one_maintainer(
    worker: Callable[..., WorkerTree], statements: Callable[[], list[tuple[str, str]]], connection: Observer
) -> None:
    """All of it is paced by timers, so a slow machine asks for less, never for more."""
    with RunningServer(Pace()):
        worker(processes=2, threads=1, actors="actors")

        def count(*names: str) -> int:
            return sum(any(f"execute {name} " in text for name in names) for _, text in statements())

        eventually(lambda: count("claim") >= 2, what="both workers have connected")
        before = count("maintainer_take", "pulse")
        eventually(lambda: count("maintainer_take", "pulse") >= before + 6, what="what follows from it is done")
        begun, began, turns = len(statements()), time.monotonic(), count("maintainer_take")
        eventually(lambda: count("maintainer_take") >= turns + 12, what="twelve turns", every=1.0)
        seconds = time.monotonic() - began
        sent = [text for application, text in statements()[begun:] if application.startswith("callboard")]
    kinds = Counter(match[1] if (match := re.search(r"execute (\w+) ", text)) else text for text in sent)
    assert kinds["pulse"] <= 2 * (seconds / 2 + 1)
    assert kinds["maintainer_take"] <= seconds + 1
    slow = {"sweep_workflows", "metrics_sample", "gate_sample"}  # each tenth turn
    every_minute = {"measure_tasks", "metrics_remove_old", "metrics_heartbeats", "sweep_runs", "sweep_gate_history"}
    every_minute |= {"recount_dead_letters", "fold_finished_counts"}
    at_first = {"make_partition"}  # one in a turn, until there are enough
    assert kinds.keys() <= {"pulse", "maintainer_take"} | slow | every_minute | at_first, kinds
    assert all(1 <= kinds[name] <= 2 for name in slow), kinds
    assert len(sent) <= 4 * seconds, kinds


def test_readme_says_so() -> None:
    text = README.read_text()
    for step in ("submit", "start", "progress", "completion"):
        assert re.search(rf"(?m)^\| {step} \| 1 statement, 1 commit", text), step
