"""After every fault of a provider the task ends as its error demands, and its generation has the reason."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Never

import pytest
from starlette.exceptions import HTTPException

from state import cancel
from state.media.generations import get_generation
from tests.actors.conftest import Checkpoint, Start
from tests.actors.test_media import submit_media
from tests.providers.servers import LeonardoServer, MidjourneyServer
from tests.providers.servers.jobs import picture
from tests.support.clock import Clock
from tests.support.following import get_delay, get_error, read_contents, wait_for_attempt, wait_until_finished
from tests.support.observer import Observer

PERMANENT = {"400": "InvalidInput", "401": "AuthenticationFailed", "403": "PermissionDenied", "404": "NotFound"}
TRANSIENT = {  # type and seconds; the servers send Retry-After: 7 with 429 and 503
    "429": ("RateLimited", 7),
    "500": ("ServerError", 5),
    "502": ("ServerError", 5),
    "503": ("ServiceUnavailable", 7),
    "504": ("ServerError", 5),
    "hang": ("NetworkTimeout", 2),
    "cut": ("NetworkTimeout", 2),
    "malformed": ("ServerError", 5),
}


def generation_of(connection: Observer, task_id: str) -> dict[str, Any]:
    row = connection.fetch_one("SELECT id FROM callboard.generations WHERE task_id = %s", [task_id])
    return get_generation(row["id"])


@pytest.mark.parametrize("provider", ["leonardo", "midjourney"])
def test_faults_of_a_submission(
    provider: str,
    start: Start,
    trusted: None,
    connection: Observer,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.setenv(f"{provider.upper()}_TIMEOUT", "1")
    server = request.getfixturevalue(f"{provider}_server")
    start()
    for fault, kind in PERMANENT.items():
        task = wait_for_attempt(submit_media(provider=provider, prompt=f"fault:{fault}"))
        assert (task.status, get_error(task)["type"], get_error(task)["category"]) == ("dead", kind, "permanent"), fault
        row = generation_of(connection, task.task_id)
        assert (row["status"], row["error"]["type"]) == ("failed", kind)
    for fault, (kind, seconds) in TRANSIENT.items():
        task = wait_for_attempt(submit_media(provider=provider, prompt=f"fault:{fault}"))
        assert (task.status, get_error(task)["type"], get_error(task)["category"]) == (
            "scheduled",
            kind,
            "transient",
        ), fault
        assert seconds <= get_delay(task) <= seconds * 1.1 + 0.1
        row = generation_of(connection, task.task_id)
        assert (row["status"], row["error"]["category"], row["task_status"]) == ("failed", "transient", "scheduled")
        if fault != "429":
            cancel(task.task_id)
            clock.advance(700)  # also long enough for a gate that is closed
            continue
        for attempt in (2, 3, 4):
            clock.advance(700)
            last = wait_for_attempt(task.task_id, attempt)
        assert (last.status, [each["type"] for each in last.error_history]) == ("dead", [kind] * 4)
    assert server.jobs.submissions == 0


@pytest.mark.parametrize("provider", ["leonardo", "midjourney"])
def test_faults_of_polls_and_downloads_do_not_submit_again(
    provider: str,
    start: Start,
    trusted: None,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    nothing_partial: Callable[[], None],
) -> None:
    monkeypatch.setenv(f"{provider.upper()}_TIMEOUT", "1")
    server = request.getfixturevalue(f"{provider}_server")
    start(threads=1)
    server.faults.add("poll", 503, "malformed", "hang")
    server.faults.add("output", "cut")
    task_id = submit_media(provider=provider, max_attempts=6)
    types = ["ServiceUnavailable", "ServerError", "NetworkTimeout", "NetworkTimeout"]
    for attempt, kind in enumerate(types, start=1):
        task = wait_for_attempt(task_id, attempt)
        assert (task.status, get_error(task)["type"]) == ("scheduled", kind)
        clock.advance(700)
    task = wait_until_finished(task_id)
    assert (task.status, task.attempt) == ("completed", 5)
    [job] = server.jobs.all()
    assert server.jobs.submissions == 1
    assert read_contents(task) == [picture(job.id, 0)]
    server.faults.add("output", 404)
    dead = wait_until_finished(submit_media(provider=provider))
    assert (dead.status, get_error(dead)["type"]) == ("dead", "NotFound")
    server.faults.add("output", "malformed")  # JSON instead of an image
    again = wait_for_attempt(submit_media(provider=provider))
    assert (again.status, get_error(again)["type"]) == ("scheduled", "ServerError")
    nothing_partial()


def test_jobs_that_end_badly(
    start: Start,
    trusted: None,
    leonardo_server: LeonardoServer,
    midjourney_server: MidjourneyServer,
    connection: Observer,
    clock: Clock,
    checkpoint: Checkpoint,
) -> None:
    start(threads=8)
    expected = {  # prompt: leonardo, midjourney
        "naked": ("InvalidInput", "InvalidInput"),
        "expired": ("NotFound", "NotFound"),
        "lost-output": ("NotFound", "NotFound"),
        "banned": (None, "InvalidInput"),
    }
    ids = {}
    for prompt, kinds in expected.items():
        for provider, kind in zip(("leonardo", "midjourney"), kinds, strict=True):
            if kind:
                ids[provider, prompt] = submit_media(provider=provider, prompt=prompt), kind
    for task_id, kind in ids.values():
        task = wait_until_finished(task_id)
        assert (task.status, get_error(task)["type"], get_error(task)["category"]) == ("dead", kind, "permanent")
    # The expired job is forgotten, so that a revived task submits another one. The lost output has been paid for, and
    # its job is polled again.
    assert checkpoint(ids["leonardo", "expired"][0])["job"] is None
    assert checkpoint(ids["leonardo", "lost-output"][0])["job"]["id"]
    banned = generation_of(connection, ids["midjourney", "banned"][0])
    assert banned["raw_response"]["failReason"].startswith("[Banned prompt]")

    for provider, server in (("leonardo", leonardo_server), ("midjourney", midjourney_server)):
        before = server.jobs.submissions
        failing = submit_media(provider=provider, prompt="fails")
        empty = submit_media(provider=provider, prompt="no-output")
        for task_id in (failing, empty):
            task = wait_for_attempt(task_id)
            assert (task.status, get_error(task)["type"]) == ("scheduled", "ServerError")
        clock.advance(6)
        wait_for_attempt(failing, 2)
        wait_for_attempt(empty, 2)
        # A failed job is submitted again. A job without output is polled again.
        assert server.jobs.submissions == before + 3


@pytest.mark.parametrize(
    ("answer", "error_type"),
    [
        (RuntimeError("the server answers 500"), "ServerError"),
        (HTTPException(409), "Conflict"),  # a conflict with the job that it has just accepted
    ],
)
def test_a_job_is_searched_before_it_is_submitted_again(
    answer: Exception,
    error_type: str,
    start: Start,
    trusted: None,
    midjourney_server: MidjourneyServer,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start_job = midjourney_server.jobs.start

    def accept_and_fail(kind: str, body: dict[str, Any]) -> Never:
        start_job(kind, body)
        monkeypatch.setattr(midjourney_server.jobs, "start", start_job)
        raise answer

    monkeypatch.setattr(midjourney_server.jobs, "start", accept_and_fail)
    start()
    task_id = submit_media(provider="midjourney")
    task = wait_for_attempt(task_id)
    assert (task.status, get_error(task)["type"]) == ("scheduled", error_type)
    clock.advance(10)
    assert wait_until_finished(task_id).status == "completed"
    assert midjourney_server.jobs.submissions == 1


def test_a_disk_that_is_full(
    start: Start, trusted: None, midjourney_server: MidjourneyServer, tmp_path: Path, clock: Clock
) -> None:
    (tmp_path / "contents").write_text("a file where a folder should be")
    start()
    task_id = submit_media(provider="midjourney")
    task = wait_for_attempt(task_id)
    assert (task.status, get_error(task)["type"], get_error(task)["category"]) == (
        "scheduled",
        "ContentStoreFailed",
        "unknown",
    )
    (tmp_path / "contents").unlink()
    clock.advance(6)
    assert wait_until_finished(task_id).status == "completed"
    assert midjourney_server.jobs.submissions == 1
