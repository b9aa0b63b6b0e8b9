"""Every type of error, from a real server's answer to the place where the design's table says it ends."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from state import NewTask, Task, get_task, submit, submit_many
from tests.control.following import ended, reached
from tests.control.servers import answering
from tests.support.clock import Clock
from tests.support.controlactors import ODD_RESULTS
from tests.support.eventually import eventually
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]

PERMANENT = {
    "400": "InvalidInput",
    "422": "InvalidInput",
    "401": "AuthenticationFailed",
    "403": "PermissionDenied",
    "404": "NotFound",
}
# The delays of the schedule, as far as three attempts get.
TRANSIENT = {
    "429": ("RateLimited", (60, 120)),
    "503": ("ServiceUnavailable", (5, 10)),
    "500": ("ServerError", (5, 15)),
    "502": ("ServerError", (5, 15)),
    "504": ("ServerError", (5, 15)),
    "hang": ("NetworkTimeout", (2, 5)),
}


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with answering() as origin:
        yield origin


def error_of(task: Task) -> dict:
    assert task.error is not None
    return task.error


def waits(task: Task) -> float:
    return (task.available_at - task.updated_at).total_seconds()


def test_permanent_errors_are_dead_at_once(worker: Start, origin: str) -> None:
    worker()
    ways = ("provider", "plain")
    tasks = {
        (status, way): submit("calls", {"value": f"{origin}/{status}", "text": way}).task_id
        for status in PERMANENT
        for way in ways
    }
    for (status, _way), task_id in tasks.items():
        task = ended(task_id)
        assert (task.status, task.attempt) == ("dead", 1)
        assert (error_of(task)["type"], error_of(task)["category"]) == (PERMANENT[status], "permanent")
        assert status in error_of(task)["message"]


def test_transient_errors_are_retried_on_their_schedule_and_then_dead(worker: Start, origin: str, clock: Clock) -> None:
    worker(threads=8)
    tasks = {
        (status, way): submit("calls", {"value": f"{origin}/{status}", "text": way}).task_id
        for status in TRANSIENT
        for way in ("provider", "plain")
        if (status, way) != ("hang", "plain")  # a timeout of a library that we do not know is just an exception
    }
    for attempt in (1, 2):
        for (status, _way), task_id in tasks.items():
            task = eventually(lambda t=task_id: (x := get_task(t)).status == "scheduled" and x.attempt == attempt and x)  # noqa: B023
            error_type, delays = TRANSIENT[status]
            assert (error_of(task)["type"], error_of(task)["category"]) == (error_type, "transient")
            assert task.lane == "retry"
            assert delays[attempt - 1] <= waits(task) <= delays[attempt - 1] * 1.1 + 0.1
        clock.advance(140)
    for (status, _way), task_id in tasks.items():
        task = ended(task_id)
        assert (task.status, task.attempt) == ("dead", 3)
        assert [error["type"] for error in task.error_history] == [TRANSIENT[status][0]] * 3


def test_retry_after_wins_over_the_schedule(worker: Start, origin: str) -> None:
    worker()
    in_two_minutes = format_datetime(datetime.now(UTC) + timedelta(seconds=120), usegmt=True)
    expected = {"7": 7, "100000": 3600, "0": 0, in_two_minutes: 120, "soon": 60, "-5": 60}
    for header, seconds in expected.items():
        for way in ("provider", "plain"):
            url = f"{origin}/429?after={header.replace(' ', '%20').replace('+', '%2B')}"
            task_id = submit("calls", {"value": url, "text": way}, max_attempts=2).task_id
            if seconds == 0:
                assert len(ended(task_id).error_history) == 2
                continue
            wait = waits(reached(task_id, "scheduled"))
            assert seconds - 5 <= wait <= seconds * 1.1 + 0.1, header


def test_an_actors_own_policy(worker: Start, clock: Clock) -> None:
    worker()
    task_id = submit("agent_like", {}).task_id
    for attempt, delay in ((1, 5), (2, 20)):
        task = eventually(lambda n=attempt: (x := get_task(task_id)).status == "scheduled" and x.attempt == n and x)
        assert delay <= waits(task) <= delay * 1.1 + 0.1
        clock.advance(delay * 1.1 + 1)
    assert ended(task_id).attempt == 3


def test_results_that_are_not_json_end_dead_with_the_reason(worker: Start) -> None:
    worker()
    ids = submit_many([NewTask("odd_result", {"text": kind}) for kind in ODD_RESULTS])
    fine = submit("note", {"value": 1}).task_id
    for kind, task_id in zip(ODD_RESULTS, ids, strict=True):
        task = ended(task_id)
        assert (task.status, task.attempt, error_of(task)["type"]) == ("dead", 1, "ResultNotJson"), kind
        assert "result" in error_of(task)["message"].lower()
    assert ended(fine).status == "completed"


def test_errors_that_are_hard_to_keep_are_kept(worker: Start) -> None:
    worker()
    kinds = ("nul", "huge", "unprintable", "exit", "details")
    ids = dict(zip(kinds, submit_many([NewTask("odd_error", {"text": kind}) for kind in kinds]), strict=True))
    tasks = {kind: ended(task_id) for kind, task_id in ids.items()}
    assert {task.status for task in tasks.values()} == {"dead"}
    assert error_of(tasks["nul"])["message"] == "before\N{REPLACEMENT CHARACTER}after ?"
    assert 10_000 <= len(error_of(tasks["huge"])["message"]) < 11_000
    assert "10000000 characters in all" in error_of(tasks["huge"])["message"]
    assert error_of(tasks["unprintable"])["type"] == "Unprintable"
    assert error_of(tasks["exit"])["type"] == "SystemExit"
    assert set(error_of(tasks["details"])["details"]) == {"when", "what", "nul", "nan"}
    assert all("controlactors.py" in error_of(task)["traceback"] for task in tasks.values())


@pytest.mark.parametrize("actor", ["limited", "async_limited"])
def test_a_time_limit(worker: Start, clock: Clock, actor: str) -> None:
    worker()
    task_id = submit(actor, {}).task_id
    first = reached(task_id, "scheduled")
    assert (error_of(first)["type"], "0.3 s" in error_of(first)["message"]) == ("TimeLimitExceeded", True)
    assert "controlactors.py" in error_of(first)["traceback"]  # where it was then
    clock.advance(10)
    task = ended(task_id)
    assert (task.status, task.attempt) == ("dead", 2)


def test_the_token_limit(worker: Start) -> None:
    worker(token_limit=100)
    fine = submit("spends", {"value": 100}).task_id
    over = submit("spends", {"value": 200}).task_id
    assert ended(fine).usage == {"tokens": 100, "cost": 5.0}
    task = ended(over)
    assert (task.status, task.attempt, error_of(task)["type"]) == ("dead", 1, "TokenLimitExceeded")
    assert task.usage == {"tokens": 110, "cost": 5.5}  # what was used is counted, also what was too much
