"""`callboard up` on a fresh data directory: brings up everything, keeps it up, and takes everything down."""

import os
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.cli.board import Board
from tests.cli.command import callboard, refusal
from tests.support.embedded import other_process, write_pid_into_lock_files
from tests.support.eventually import eventually

Boards = Callable[..., Board]


@contextmanager
def open_folder() -> Iterator[Path]:
    """Not pytest's own: each start of pytest closes that to all others, and Postgres does not run as root."""
    with tempfile.TemporaryDirectory(prefix="callboard-tests-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def board() -> Iterator[Board]:
    """One for all tests that only hurt it."""
    with open_folder() as folder:
        running = Board(folder)
        try:
            yield running.ready()
        finally:
            running.destroy()


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as opened:
        yield opened


@pytest.fixture
def boards(folder: Path) -> Iterator[Boards]:
    """For tests that end it."""
    started: list[Board] = []

    def start(**settings: object) -> Board:
        started.append(Board(folder / str(len(started)), **settings))
        return started[-1].ready()

    try:
        yield start
    finally:
        for each in started:
            each.destroy()


def work(board: Board) -> None:
    """Somebody asks for work, and gets it."""
    done = callboard("submit", "note", "--set", "value=42", "--watch", **board.environment)
    assert done.returncode == 0, done


def running(board: Board, actor: str, seconds: float) -> str:
    task = board.answer("submit", actor, "--set", f"seconds={seconds}", "--max-attempts", "3")
    eventually(lambda: board.answer("show", task["task_id"])["status"] == "running", what="the task runs")
    return str(task["task_id"])


def nothing_is_left(board: Board, timeout: float) -> None:
    _, left = psutil.wait_procs(board.processes(), timeout)
    assert left == []
    assert not (board.data_dir / "postgres" / "postmaster.pid").exists()


def test_brings_up_everything(board: Board):
    assert board.announcement["data_dir"] == str(board.data_dir)
    assert board.is_ready()
    assert len(board.workers()) >= 1
    work(board)


def test_a_killed_worker_process_comes_back(board: Board):
    eventually(lambda: len(board.workers()) == 2)
    before = board.workers()
    os.kill(min(before), signal.SIGKILL)
    eventually(lambda: len(board.workers()) == 2 and not board.workers() & before, what="two new workers")
    work(board)


def test_a_killed_worker_tree_comes_back(board: Board):
    eventually(lambda: len(board.workers()) == 2)
    before = board.workers()
    os.kill(board.child("dramatiq").pid, signal.SIGKILL)
    eventually(lambda: len(board.workers()) == 2 and not board.workers() & before, what="two new workers")
    work(board)


def test_killed_http_comes_back(board: Board):
    before = board.child("uvicorn")
    before.kill()
    eventually(lambda: not before.is_running() and board.is_ready(), what="HTTP answers again")
    work(board)


def test_killed_postgres_comes_back(board: Board):
    before = board.postmaster()
    assert before is not None
    os.kill(before, signal.SIGKILL)
    eventually(lambda: board.postmaster() not in (None, before) and board.is_ready(), what="ready again")
    work(board)
    assert "has been started again" in board.problems


def test_ctrl_c_leaves_nothing_and_loses_nothing(boards: Boards):
    board = boards()
    task_id = running(board, "steps", 120)
    board.interrupt()
    assert board.process.wait(30) == 0
    nothing_is_left(board, 1)
    task = board.answer("show", task_id)
    assert (task["status"], task["attempt"]) == ("queued", 0)
    nothing_is_left(board, 1)


def test_a_second_ctrl_c_hurries(boards: Boards):
    board = boards(CALLBOARD_GRACE_SECONDS=100)
    running(board, "stubborn", 200)
    board.interrupt(signal.SIGTERM)
    log = board.data_dir / "logs" / "workers.log"
    eventually(lambda: "Shutting down" in log.read_text(), what="the workers are asked to stop")
    board.interrupt()
    assert board.process.wait(20) == 0
    nothing_is_left(board, 1)


def test_killed_itself_it_takes_everything_along(boards: Boards):
    board = boards()
    board.process.kill()
    board.process.wait(10)
    nothing_is_left(board, 30)


@pytest.mark.parametrize("name", ["short", "a-project-with-a-long-name-" * 6], ids=["short path", "long path"])
def test_comes_back_after_a_power_loss(folder: Path, name: str):
    """All of it is killed at once, and the pid of its Postgres is another program's when it starts again."""
    board = Board(folder / name).ready()
    data = board.data_dir / "postgres"
    stranger = other_process(data, "sleep", "600")
    try:
        task_id = running(board, "steps", 600)
        socket_folder = Path((data / "postmaster.pid").read_text().splitlines()[4])
        board.lose_power()
        write_pid_into_lock_files(board.data_dir, stranger.pid, socket_folder)
        board = Board(folder / name).ready()
        work(board)
        assert board.answer("show", task_id)["attempt"] >= 1
        board.interrupt()
        assert board.process.wait(30) == 0
        nothing_is_left(board, 1)
        assert stranger.poll() is None
    finally:
        board.destroy()
        stranger.kill()
        stranger.wait()


def test_port_in_use(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        folder = tmp_path / "data"
        line = refusal(1, "up", CALLBOARD_DATABASE_URL=None, CALLBOARD_DATA_DIR=folder, CALLBOARD_PORT=port)
        assert f"127.0.0.1:{port}" in line
        assert "CALLBOARD_PORT=" in line
        assert not folder.exists()


def test_what_cannot_start_is_said(folder: Path):
    board = Board(folder, CALLBOARD_ACTORS="no_such_module")
    try:
        assert board.process.wait(60) == 1
        assert "No module named 'no_such_module'" in board.problems
        assert f"cannot start: see {board.data_dir}/logs/" in board.problems
        nothing_is_left(board, 1)
    finally:
        board.destroy()
