"""Every type of error, from a real server's response to the outcome that the design's table demands."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import pytest

import actors  # noqa: F401  (sets the broker)
from broker.execution.failures import describe, find_requested_wait
from providers.blocking import wait_for
from providers.errors import make_error_from_response
from state import NewTask, get_task, submit, submit_many
from tests.control.servers import answering
from tests.support.clock import Clock
from tests.support.controlactors import ODD_RESULTS
from tests.support.eventually import eventually
from tests.support.following import get_delay, get_error, wait_for_status, wait_until_finished
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]

PERMANENT = {
    400: "InvalidInput",
    401: "AuthenticationFailed",
    402: "PermissionDenied",
    403: "PermissionDenied",
    404: "NotFound",
    405: "InvalidInput",
    410: "InvalidInput",
    413: "InvalidInput",
    415: "InvalidInput",
    422: "InvalidInput",
}
TRANSIENT = {
    408: "NetworkTimeout",
    409: "Conflict",
    425: "TooEarly",
    429: "RateLimited",
    503: "ServiceUnavailable",
    **{status: "ServerError" for status in range(500, 600) if status != 503},
}
UNKNOWN = [status for status in range(400, 500) if status not in PERMANENT and status not in TRANSIENT]

# The delays of the schedules, as far as three attempts need them.
DELAYS = {
    "NetworkTimeout": (2, 5),
    "RateLimited": (60, 120),
    "ServerError": (5, 15),
    "Conflict": (5, 15),
    "TooEarly": (5, 15),
    "ServiceUnavailable": (5, 10),
}
WAYS = ("provider", "plain")


class RequestsError(OSError):
    """An exception as `requests` raises it. It is an OSError, and its response has other classes than httpx2's."""

    def __init__(self, response: httpx2.Response) -> None:
        super().__init__(f"{response.status_code} Error")
        self.response = type("Response", (), {"status_code": response.status_code, "headers": response.headers})()


def fail_by_status(way: str, status: int) -> BaseException:
    """Returns the exception with which an actor ends that got this status, with a Retry-After."""
    request = httpx2.Request("GET", "https://example.com")
    response = httpx2.Response(status, headers={"Retry-After": "12"}, request=request)
    if way == "provider":
        return wait_for(make_error_from_response(response, "example"))
    if way == "requests":
        return RequestsError(response)
    return httpx2.HTTPStatusError(f"{status}", request=request, response=response)


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with answering() as origin:
        yield origin


@pytest.mark.parametrize("way", ["provider", "httpx2", "requests"])
@pytest.mark.parametrize("status", range(400, 600))
def test_a_status_means_the_same_in_a_provider_and_in_an_exception_that_escapes(status: int, way: str) -> None:
    exception = fail_by_status(way, status)
    error = describe(exception)
    found = (error["type"], error["category"], find_requested_wait(exception))
    if status in PERMANENT:
        assert found == (PERMANENT[status], "permanent", None)
    elif status in TRANSIENT:
        assert found == (TRANSIENT[status], "transient", 12)
    else:
        assert found == (type(exception).__name__, "unknown", None)


def test_the_statuses_that_say_nothing_certain() -> None:
    assert {406, 407, 411, 412, 414, 418, 423, 424, 428, 431, 451, 499} <= set(UNKNOWN)


def test_permanent_errors_are_dead_at_once(worker: Start, origin: str) -> None:
    worker()
    tasks = {
        (status, way): submit("calls", {"value": f"{origin}/{status}", "text": way}).task_id
        for status in PERMANENT
        for way in WAYS
    }
    for (status, _way), task_id in tasks.items():
        task = wait_until_finished(task_id)
        assert (task.status, task.attempt) == ("dead", 1)
        assert (get_error(task)["type"], get_error(task)["category"]) == (PERMANENT[status], "permanent")
        assert str(status) in get_error(task)["message"]


def test_transient_errors_are_retried_on_their_schedule_and_then_dead(worker: Start, origin: str, clock: Clock) -> None:
    worker(threads=8)
    expected = {str(status): TRANSIENT[status] for status in (408, 409, 425, 429, 500, 502, 503, 504)}
    expected["hang"] = "NetworkTimeout"
    tasks = {
        (status, way): submit("calls", {"value": f"{origin}/{status}", "text": way}).task_id
        for status in expected
        for way in WAYS
        if (status, way) != ("hang", "plain")  # the timeout of a library that we do not know is just an exception
    }
    for attempt in (1, 2):
        for (status, _way), task_id in tasks.items():
            task = eventually(lambda: (x := get_task(task_id)).status == "scheduled" and x.attempt == attempt and x)  # noqa: B023
            assert (get_error(task)["type"], get_error(task)["category"]) == (expected[status], "transient")
            assert task.lane == "retry"
            delay = DELAYS[expected[status]][attempt - 1]
            assert delay <= get_delay(task) <= delay * 1.1 + 0.1
        clock.advance(140)
    for (status, _way), task_id in tasks.items():
        task = wait_until_finished(task_id)
        assert (task.status, task.attempt) == ("dead", 3)
        assert [error["type"] for error in task.error_history] == [expected[status]] * 3


def test_retry_after_wins_over_the_schedule(worker: Start, origin: str) -> None:
    worker()
    in_two_minutes = format_datetime(datetime.now(UTC) + timedelta(seconds=120), usegmt=True)
    expected = {"7": 7, "100000": 3600, "0": 0, in_two_minutes: 120, "soon": 60, "-5": 60}
    cases = [(429, header, seconds) for header, seconds in expected.items()]
    cases += [(status, "77", 77) for status in (408, 409, 425, 500, 503)]
    for status, header, seconds in cases:
        for way in WAYS:
            url = f"{origin}/{status}?after={header.replace(' ', '%20').replace('+', '%2B')}"
            task_id = submit("calls", {"value": url, "text": way}, max_attempts=2).task_id
            if seconds == 0:
                assert len(wait_until_finished(task_id).error_history) == 2
                continue
            delay = get_delay(wait_for_status(task_id, "scheduled"))
            assert seconds - 5 <= delay <= seconds * 1.1 + 0.1, (status, header)


def test_an_actors_own_policy(worker: Start, clock: Clock) -> None:
    worker()
    task_id = submit("agent_like", {}).task_id
    for attempt, delay in ((1, 5), (2, 20)):
        task = eventually(lambda: (x := get_task(task_id)).status == "scheduled" and x.attempt == attempt and x)  # noqa: B023
        assert delay <= get_delay(task) <= delay * 1.1 + 0.1
        clock.advance(delay * 1.1 + 1)
    assert wait_until_finished(task_id).attempt == 3


def test_results_that_are_not_json_end_dead_with_the_reason(worker: Start) -> None:
    worker()
    ids = submit_many([NewTask("odd_result", {"text": kind}) for kind in ODD_RESULTS])
    fine = submit("note", {"value": 1}).task_id
    for kind, task_id in zip(ODD_RESULTS, ids, strict=True):
        task = wait_until_finished(task_id)
        assert (task.status, task.attempt, get_error(task)["type"]) == ("dead", 1, "ResultNotJson"), kind
        assert "result" in get_error(task)["message"].lower()
    assert wait_until_finished(fine).status == "completed"


def test_errors_that_are_hard_to_keep_are_kept(worker: Start) -> None:
    worker()
    kinds = ("nul", "huge", "unprintable", "exit", "details")
    ids = dict(zip(kinds, submit_many([NewTask("odd_error", {"text": kind}) for kind in kinds]), strict=True))
    tasks = {kind: wait_until_finished(task_id) for kind, task_id in ids.items()}
    assert {task.status for task in tasks.values()} == {"dead"}
    assert get_error(tasks["nul"])["message"] == "before\N{REPLACEMENT CHARACTER}after ?"
    assert 10_000 <= len(get_error(tasks["huge"])["message"]) < 11_000
    assert "10000000 characters in all" in get_error(tasks["huge"])["message"]
    assert get_error(tasks["unprintable"])["type"] == "Unprintable"
    assert get_error(tasks["exit"])["type"] == "SystemExit"
    assert set(get_error(tasks["details"])["details"]) == {"when", "what", "nul", "nan"}
    assert all("controlactors.py" in get_error(task)["traceback"] for task in tasks.values())


@pytest.mark.parametrize("actor", ["limited", "async_limited"])
def test_a_time_limit(worker: Start, clock: Clock, actor: str) -> None:
    worker()
    task_id = submit(actor, {}).task_id
    first = wait_for_status(task_id, "scheduled")
    assert (get_error(first)["type"], "0.3 s" in get_error(first)["message"]) == ("TimeLimitExceeded", True)
    assert "controlactors.py" in get_error(first)["traceback"]  # the line at that time
    clock.advance(10)
    task = wait_until_finished(task_id)
    assert (task.status, task.attempt) == ("dead", 2)


def test_the_token_limit(worker: Start) -> None:
    worker(token_limit=100)
    fine = submit("spends", {"value": 100}).task_id
    over = submit("spends", {"value": 200}).task_id
    assert wait_until_finished(fine).usage == {"tokens": 100, "cost": 5.0}
    task = wait_until_finished(over)
    assert (task.status, task.attempt, get_error(task)["type"]) == ("dead", 1, "TokenLimitExceeded")
    assert task.usage == {"tokens": 110, "cost": 5.5}  # all that was used is counted, also above the limit
