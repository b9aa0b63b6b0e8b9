"""Force-stop: for what it waits, and what it reports."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

import state.projects.queue
import taskapi.resources.project_queue
from state.projects.queue import (
    StillRunning,
    begin_force_stop,
    force_stop,
    list_leftovers,
    look_after_force_stop,
    start_run,
)
from taskapi.streams.feed import Pace
from tests.projects.byhand import WorkerByHand
from tests.projects.conftest import MakeProject
from tests.projects.looks import queue
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.taskapi.running import RunningServer

AT_ONCE = 45  # more than the server has threads
OPEN = (
    "INSERT INTO callboard.sandboxes (id, task_id, epoch, worker_id, host, boot_id, pid_namespace, pid, kind,"
    " workspace, started_at) VALUES (%s, %s, 1, 'w1', 'far', 'boot', 'ns', 7, 'process', '/w', callboard.now())"
)
END = "UPDATE callboard.sandboxes SET ended_at = callboard.now() WHERE id = %s"


def test_it_waits_for_what_an_earlier_run_has_left(
    make_project: MakeProject, by_hand: WorkerByHand, connection: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue has stopped, and a sandbox of its last run is still being killed."""
    project_id = make_project("a")
    run_id = start_run(project_id, "single")
    by_hand.fail(by_hand.take()[0])
    connection.execute(OPEN, ["sb_1", run_id])
    seen = []

    def look_and_end(*of: Any, **options: Any) -> list[StillRunning]:
        seen.append(list_leftovers(*of, **options))
        connection.execute(END, ["sb_1"])
        return seen[-1]

    monkeypatch.setattr(state.projects.queue, "list_leftovers", look_and_end)
    assert force_stop(project_id, seconds=60).success
    assert [[left.sandbox_id for left in each] for each in seen] == [["sb_1"], []]


def test_a_run_that_was_started_meanwhile_is_not_reported(
    make_project: MakeProject, by_hand: WorkerByHand, connection: Observer
) -> None:
    project_id = make_project("a", "b")
    stopped = start_run(project_id, "single")
    assert begin_force_stop(project_id) == stopped
    later = start_run(project_id, "single")
    claimed, _ = by_hand.take()
    connection.execute(OPEN, ["sb_1", later])
    done = look_after_force_stop(project_id, stopped)
    assert (done.success, done.killed_runs, done.still_running) == (True, [stopped], [])
    assert queue(project_id).is_running
    done = force_stop(project_id, seconds=0)
    assert [left.run_id for left in done.still_running] == [later]
    by_hand.release(claimed)
    connection.execute(END, ["sb_1"])


def test_many_at_once_leave_the_server_its_threads(
    make_project: MakeProject, by_hand: WorkerByHand, connection: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No worker answers, as in an outage: all of them wait."""
    monkeypatch.setattr(taskapi.resources.project_queue, "FORCE_SECONDS", 3600)
    projects = [make_project("a") for _ in range(AT_ONCE)]
    for project_id in projects:
        start_run(project_id, "single")
    claims = [by_hand.take()[0] for _ in projects]

    def ask(project_id: str) -> httpx2.Response:
        with httpx2.Client(base_url=server.url, timeout=120, trust_env=False) as own:
            return own.post(f"/api/v1/projects/{project_id}/queue/force-stop")

    asked = "SELECT count(*) AS n FROM callboard.tasks WHERE cancel_requested = 'force'"
    with RunningServer(Pace()) as server, ThreadPoolExecutor(AT_ONCE) as threads:
        answers = [threads.submit(ask, project_id) for project_id in projects]
        try:
            eventually(lambda: connection.fetch_one(asked)["n"] == AT_ONCE, what="all have asked")
            assert server.client.get(f"/api/v1/projects/{projects[0]}").status_code == 200
            assert not any(answer.done() for answer in answers)
        finally:
            for claimed in claims:
                by_hand.release(claimed)
        for claimed, answer in zip(claims, answers, strict=True):
            told = {"success": True, "killed_runs": [claimed.id], "still_running": []}
            assert answer.result(60).json() == told
