"""A job that has been paid for is not submitted twice, at whatever moment a process dies."""

import signal
import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from state import Task, cancel, get_attempts, get_task, pause, resume
from state.media.generations import get_generation
from tests.actors.conftest import Checkpoint, Start
from tests.actors.test_media import submit_media
from tests.providers.servers import LeonardoServer, MidjourneyServer
from tests.providers.servers.jobs import Job, picture
from tests.support.eventually import eventually
from tests.support.following import (
    get_error,
    get_stages,
    read_contents,
    wait_for_attempt,
    wait_for_status,
    wait_until_finished,
)
from tests.support.observer import Observer
from tests.support.postgres import TestPostgres

MediaServer = LeonardoServer | MidjourneyServer


def call_before(
    monkeypatch: pytest.MonkeyPatch,
    owner: object,
    name: str,
    act: Callable[[], object],
    when: Callable[..., bool] = lambda *_: True,
) -> None:
    """Calls `act` before the first fitting call of the owner's method."""
    method = getattr(owner, name)
    done: list[bool] = []

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not done and when(*args):
            done.append(True)
            act()
        return method(*args, **kwargs)

    monkeypatch.setattr(owner, name, wrapper)


def call_after_accept(server: MediaServer, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Calls `act` after the server has accepted a job and before it answers."""
    started = server.jobs.start

    def wrapper(kind: str, body: dict[str, Any]) -> Job:
        job = started(kind, body)
        monkeypatch.setattr(server.jobs, "start", started)
        act()
        return job

    monkeypatch.setattr(server.jobs, "start", wrapper)


def list_outcomes(task_id: str) -> list[tuple[str, str | None]]:
    return [(each["outcome"], (each["error"] or {}).get("type")) for each in get_attempts(task_id)]


def check_completed_once(task_id: str, server: MediaServer) -> Task:
    task = wait_until_finished(task_id)
    [job] = server.jobs.all()
    assert (task.status, server.jobs.submissions) == ("completed", 1)
    assert read_contents(task) == [picture(job.id, 0)]
    return task


@pytest.mark.parametrize("moment", ["accepted", "polling", "downloading"])
def test_a_worker_killed(
    moment: str,
    start: Start,
    trusted: None,
    midjourney_server: MidjourneyServer,
    monkeypatch: pytest.MonkeyPatch,
    nothing_partial: Callable[[], None],
) -> None:
    server = midjourney_server
    tree = start()

    def kill() -> None:
        tree.signal_all(signal.SIGKILL)

    if moment == "accepted":
        call_after_accept(server, monkeypatch, kill)
    elif moment == "polling":
        call_before(monkeypatch, server.jobs, "poll", kill)
    else:
        call_before(monkeypatch, server.faults, "take", kill, lambda stage: stage == "output")
    task_id = submit_media(provider="midjourney")
    tree.wait()
    assert server.jobs.submissions == 1
    start()
    check_completed_once(task_id, server)
    assert list_outcomes(task_id) == [("lost", "WorkerLost"), ("completed", None)]
    nothing_partial()


def test_a_worker_killed_after_the_checkpoint(
    start: Start,
    trusted: None,
    leonardo_server: LeonardoServer,
    checkpoint: Checkpoint,
    nothing_partial: Callable[[], None],
) -> None:
    leonardo_server.jobs.seconds = 1.0
    tree = start()
    task_id = submit_media(provider="leonardo")
    eventually(lambda: checkpoint(task_id).get("job"))
    tree.signal_all(signal.SIGKILL)
    tree.wait()
    start()
    check_completed_once(task_id, leonardo_server)
    nothing_partial()


def test_leonardo_cannot_tell_what_it_has_accepted(
    start: Start,
    trusted: None,
    leonardo_server: LeonardoServer,
    monkeypatch: pytest.MonkeyPatch,
    checkpoint: Checkpoint,
) -> None:
    tree = start()
    call_after_accept(leonardo_server, monkeypatch, lambda: tree.signal_all(signal.SIGKILL))
    task_id = submit_media(provider="leonardo")
    tree.wait()
    start()
    dead = wait_until_finished(task_id)
    assert (dead.status, get_error(dead)["type"], get_error(dead)["category"]) == (
        "dead",
        "SubmissionInDoubt",
        "permanent",
    )
    assert "cannot tell" in get_error(dead)["message"]
    assert leonardo_server.jobs.submissions == 1
    assert checkpoint(task_id)["submitting"] is None  # so that a retry, if a person wants one, asks again


def test_a_shutdown_waits_for_the_answer_that_is_being_paid_for(
    start: Start, trusted: None, leonardo_server: LeonardoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt in the middle of a submission would lose its answer."""
    tree = start(grace_seconds=0.1)

    def stop() -> None:
        tree.terminate()
        eventually(lambda: "interrupted at the end" in tree.log.read_text())

    call_after_accept(leonardo_server, monkeypatch, stop)
    task_id = submit_media(provider="leonardo")
    tree.wait()
    assert get_task(task_id).status == "queued"
    start()
    assert check_completed_once(task_id, leonardo_server).attempt == 1


def test_a_pause_waits_for_the_answer_that_is_being_paid_for(
    start: Start,
    trusted: None,
    leonardo_server: LeonardoServer,
    monkeypatch: pytest.MonkeyPatch,
    checkpoint: Checkpoint,
) -> None:
    start()

    def pause_and_wait() -> None:
        pause(task_id)
        eventually(lambda: "seen" in get_stages(task_id))

    call_after_accept(leonardo_server, monkeypatch, pause_and_wait)
    task_id = submit_media(provider="leonardo", delay_seconds=1)
    wait_for_status(task_id, "paused")
    [job] = leonardo_server.jobs.all()
    saved = checkpoint(task_id)
    assert (saved["job"]["id"], saved["submitting"]) == (job.id, None)
    resume(task_id)
    check_completed_once(task_id, leonardo_server)


def test_the_database_is_away_when_the_answer_comes(
    start: Start,
    trusted: None,
    leonardo_server: LeonardoServer,
    monkeypatch: pytest.MonkeyPatch,
    postgres: TestPostgres,
    database_url: str,
) -> None:
    name = psycopg.conninfo.conninfo_to_dict(database_url)["dbname"]
    away = threading.Event()

    def leave() -> None:
        postgres.execute(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false")
        postgres.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        away.set()

    tree = start()
    call_after_accept(leonardo_server, monkeypatch, leave)
    task_id = submit_media(provider="leonardo")
    assert away.wait(30)
    eventually(lambda: "dispatcher: trying again" in tree.log.read_text())
    postgres.execute(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true")
    assert check_completed_once(task_id, leonardo_server).attempt == 1


def test_a_generation_that_was_finished_before_the_worker_died(
    start: Start, trusted: None, midjourney_server: MidjourneyServer, connection: Observer
) -> None:
    tree = start()
    first = wait_until_finished(submit_media(provider="midjourney"))
    tree.signal_all(signal.SIGKILL)
    tree.wait()
    # As if the worker had died between the generation's end and the task's.
    connection.execute("ALTER TABLE callboard.tasks DISABLE TRIGGER ALL")
    connection.execute(
        "UPDATE callboard.tasks SET status = 'queued', result = NULL, finished_at = NULL, checkpoint = '{}'"
    )
    connection.execute("ALTER TABLE callboard.tasks ENABLE TRIGGER ALL")
    start()
    again = wait_until_finished(first.task_id)
    assert (again.result, again.epoch) == (first.result, 2)
    assert midjourney_server.jobs.submissions == 1


@pytest.mark.parametrize("moment", ["submitting", "polling"])
def test_a_cancel_stops_the_job_at_the_provider(
    moment: str,
    start: Start,
    trusted: None,
    midjourney_server: MidjourneyServer,
    monkeypatch: pytest.MonkeyPatch,
    checkpoint: Checkpoint,
    connection: Observer,
    nothing_partial: Callable[[], None],
) -> None:
    midjourney_server.jobs.seconds = 60
    start()
    if moment == "submitting":

        def cancel_and_wait() -> None:
            cancel(task_id)
            eventually(lambda: "seen" in get_stages(task_id))

        call_after_accept(midjourney_server, monkeypatch, cancel_and_wait)
        task_id = submit_media(provider="midjourney", delay_seconds=1)
    else:
        task_id = submit_media(provider="midjourney")
        eventually(lambda: checkpoint(task_id).get("job"))
        cancel(task_id)
    assert wait_until_finished(task_id).status == "canceled"
    [job] = midjourney_server.jobs.all()
    assert job.canceled
    generation = connection.fetch_one("SELECT id FROM callboard.generations")["id"]
    assert get_generation(generation)["status"] == "canceled"
    nothing_partial()


def test_a_cancel_where_the_provider_cannot_stop(
    start: Start, trusted: None, leonardo_server: LeonardoServer, checkpoint: Checkpoint
) -> None:
    leonardo_server.jobs.seconds = 60
    start()
    task_id = submit_media(provider="leonardo")
    eventually(lambda: checkpoint(task_id).get("job"))
    cancel(task_id)
    assert wait_until_finished(task_id).status == "canceled"


def test_a_shutdown_leaves_the_job_alone(
    start: Start, trusted: None, midjourney_server: MidjourneyServer, checkpoint: Checkpoint
) -> None:
    midjourney_server.jobs.seconds = 3
    tree = start(grace_seconds=0.1)
    task_id = submit_media(provider="midjourney")
    eventually(lambda: checkpoint(task_id).get("job"))
    tree.terminate()
    tree.wait()
    assert not midjourney_server.jobs.all()[0].canceled
    start()
    check_completed_once(task_id, midjourney_server)
    assert wait_for_attempt(task_id).attempt == 1
