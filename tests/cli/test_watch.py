"""`callboard watch` follows a task that a real worker runs."""

import json
import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import actors  # noqa: F401  (declares our actors)
from deploy.cli.exits import EXIT_CODE_BY_STATUS
from state import Task, cancel, get_events, get_task, submit
from state.transitions import FINISHED
from tests.cli.actors import CLI_ACTORS
from tests.cli.command import CALLBOARD, callboard, environment
from tests.support import testactors  # noqa: F401  (declares noop)
from tests.support.eventually import eventually
from tests.support.following import wait_until_finished
from tests.support.postgres import TestPostgres
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]


class Watcher:
    """A running `callboard watch --json`."""

    def __init__(self, task_id: str, folder: Path) -> None:
        self._out, self._err = folder / "out", folder / "err"
        with self._out.open("w") as out, self._err.open("w") as err:
            self.process = subprocess.Popen(
                [CALLBOARD, "watch", task_id, "--json"], stdout=out, stderr=err, env=environment()
            )

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._out.read_text().splitlines(keepends=True) if line.endswith("\n")]

    @property
    def problems(self) -> str:
        return self._err.read_text()

    def wait_for(self, kind: str, after: int = -1) -> None:
        """Waits for an event of this kind with a number above `after`."""

        def is_seen() -> bool:
            assert self.process.poll() is None, self.problems
            return any(event["kind"] == kind and event["n"] > after for event in self.events)

        eventually(is_seen, what=f"{kind} after {after} in {self._out}")

    def wait(self) -> int:
        return self.process.wait(60)


@contextmanager
def watching(task_id: str, folder: Path) -> Iterator[Watcher]:
    watcher = Watcher(task_id, folder)
    try:
        yield watcher
    finally:
        watcher.process.kill()
        watcher.process.wait()


@pytest.fixture
def until(tmp_path: Path) -> Path:
    """The file that ends the task: touch it."""
    return tmp_path / "until"


@pytest.fixture
def held(worker: Start, until: Path) -> Task:
    """A task that a worker runs until the test lets it end."""
    worker(actors=CLI_ACTORS)
    return submit("hold", {"until": str(until)})


def read_terminal(ours: int, timeout: float = 60) -> Iterator[bytes]:
    """Yields the output until the other side closes the terminal."""
    deadline = time.monotonic() + timeout
    with suppress(OSError):  # the other side has closed it
        while select.select([ours], [], [], timeout)[0] and time.monotonic() < deadline:
            yield os.read(ours, 65536)


def assert_complete(events: list[dict[str, Any]], task_id: str) -> None:
    """A snapshot, every later event exactly once, done."""
    first, *later, last = events
    assert (first["kind"], last["kind"]) == ("snapshot", "done")
    expected = [event.n for event in get_events(task_id, after=first["n"], limit=100_000)]
    assert [event["n"] for event in later] == expected
    assert last["n"] == get_task(task_id).last_event


def test_follows_a_running_task_to_its_end(held: Task, until: Path, tmp_path: Path) -> None:
    with watching(held.task_id, tmp_path) as watcher:
        watcher.wait_for("progress")
        until.touch()
        assert watcher.wait() == 0
    assert_complete(watcher.events, held.task_id)
    assert watcher.events[-1]["data"]["status"] == "completed"
    assert watcher.events[-1]["data"]["result"] == "done"


def test_survives_a_restart_of_the_database(held: Task, until: Path, tmp_path: Path, postgres: TestPostgres) -> None:
    with watching(held.task_id, tmp_path) as watcher:
        watcher.wait_for("progress")
        postgres.restart("immediate")
        watcher.wait_for("progress", after=watcher.events[-1]["n"])
        until.touch()
        assert watcher.wait() == 0
    assert_complete(watcher.events, held.task_id)


def test_exit_code_says_that_it_was_canceled(held: Task, tmp_path: Path) -> None:
    with watching(held.task_id, tmp_path) as watcher:
        watcher.wait_for("progress")
        cancel(held.task_id)
        assert watcher.wait() == 6
    assert watcher.events[-1]["data"]["status"] == "canceled"


def test_exit_code_says_that_it_died(worker: Start) -> None:
    worker()
    done = callboard("submit", "fail", "--set", "text=no such luck", "--max-attempts", "1", "--watch")
    assert done.returncode == 1
    assert "dead" in done.stdout
    assert "RuntimeError: no such luck" in done.stdout


def test_every_finished_status_has_an_exit_code() -> None:
    assert set(EXIT_CODE_BY_STATUS) == FINISHED


def test_submit_and_watch_as_plain_text(worker: Start) -> None:
    worker()
    done = callboard("submit", "media_generation", "--set", "prompt=a lighthouse", "--set", "params.steps=4", "--watch")
    assert done.returncode == 0, done
    assert "queued -> running" in done.stdout or "is running" in done.stdout  # the worker may be quicker than the watch
    assert "Step" in done.stdout
    assert "completed after" in done.stdout
    assert "/api/v1/contents/gc_" in done.stdout
    assert done.stderr == ""


def test_a_terminal_gets_a_live_bar(worker: Start, until: Path) -> None:
    worker(actors=CLI_ACTORS)
    command = [CALLBOARD, "submit", "hold", "--set", f"until={until}", "--watch"]
    settings = environment(CALLBOARD_ACTORS=CLI_ACTORS, TERM="xterm", COLUMNS="120")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=settings)
    os.close(theirs)
    drawn = b""
    try:
        for part in read_terminal(ours):
            drawn += part
            if b"Step" in drawn:
                until.touch()
        assert process.wait(30) == 0, drawn
    finally:
        os.close(ours)
        process.kill()
        process.wait()
    screen = drawn.decode()
    assert "running" in screen
    assert "━" in screen
    assert "Step" in screen
    assert "completed" in screen


def test_ctrl_c_ends_the_watching_and_not_the_task(held: Task, until: Path, tmp_path: Path) -> None:
    with watching(held.task_id, tmp_path) as watcher:
        watcher.wait_for("progress")
        watcher.process.send_signal(signal.SIGINT)
        assert watcher.wait() == 130
    assert f"callboard watch {held.task_id}" in watcher.problems
    assert get_task(held.task_id).status == "running"
    until.touch()
    assert wait_until_finished(held.task_id).status == "completed"


@pytest.mark.usefixtures("database_url")
def test_the_queues_are_watched(tmp_path: Path) -> None:
    with watching("queues", tmp_path) as watcher:
        eventually(lambda: watcher.events, what=f"the queues in {tmp_path}")
        assert watcher.events[-1]["queues"]["primary"] == 0
        submit("noop", {})
        eventually(lambda: watcher.events[-1]["queues"]["primary"] == 1, what="the change")
        watcher.process.send_signal(signal.SIGINT)
        assert watcher.wait() == 130
    assert watcher.problems == ""


@pytest.mark.usefixtures("database_url")
def test_a_task_that_waits_is_watched_too(tmp_path: Path) -> None:
    """No worker runs: nothing happens until the test cancels the task."""
    task = submit("noop", {})
    with watching(task.task_id, tmp_path) as watcher:
        watcher.wait_for("snapshot")
        cancel(task.task_id)
        assert watcher.wait() == 6
