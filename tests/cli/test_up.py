"""`callboard up` with an empty data directory: starts everything, keeps it running, and stops everything."""

import os
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2
import psutil
import pytest

from tests.cli.board import Board
from tests.cli.command import callboard, refusal
from tests.support.embedded import other_process, write_pid_into_lock_files
from tests.support.eventually import eventually

Boards = Callable[..., Board]


@contextmanager
def open_folder() -> Iterator[Path]:
    """Creates a folder that other users can read, unlike pytest's own: Postgres does not run as root."""
    with tempfile.TemporaryDirectory(prefix="callboard-tests-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def board() -> Iterator[Board]:
    """Shared by all tests that kill only a part of it."""
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
    """Starts a board for tests that stop it."""
    started: list[Board] = []

    def start(**settings: object) -> Board:
        started.append(Board(folder / str(len(started)), **settings))
        return started[-1].ready()

    try:
        yield start
    finally:
        for each in started:
            each.destroy()


def run_task(board: Board) -> None:
    """Submits a task, and sees that it completes."""
    done = callboard("submit", "note", "--set", "value=42", "--watch", **board.environment)
    assert done.returncode == 0, done


def start_task(board: Board, actor: str, seconds: float) -> str:
    task = board.answer("submit", actor, "--set", f"seconds={seconds}", "--max-attempts", "3")
    eventually(lambda: board.answer("show", task["task_id"])["status"] == "running", what="the task runs")
    return str(task["task_id"])


def assert_nothing_is_left(board: Board, timeout: float) -> None:
    _, left = psutil.wait_procs(board.processes(), timeout)
    assert left == []
    assert not (board.data_dir / "postgres" / "postmaster.pid").exists()


def test_brings_up_everything(board: Board) -> None:
    assert board.announcement["data_dir"] == str(board.data_dir)
    assert board.is_ready()
    eventually(lambda: len(board.workers()) >= 1, what="a worker is ready")
    run_task(board)
    health = httpx2.get(f"{board.announcement['url']}/health", trust_env=False).json()
    assert health["components"]["recall"]["status"] == "vector"  # though no role of ours may create it


def test_a_killed_worker_process_comes_back(board: Board) -> None:
    eventually(lambda: len(board.workers()) == 2)
    before = board.workers()
    os.kill(min(before), signal.SIGKILL)
    eventually(lambda: len(board.workers()) == 2 and not board.workers() & before, what="two new workers")
    run_task(board)


def test_a_killed_worker_tree_comes_back(board: Board) -> None:
    eventually(lambda: len(board.workers()) == 2)
    before = board.workers()
    os.kill(board.child("dramatiq").pid, signal.SIGKILL)
    eventually(lambda: len(board.workers()) == 2 and not board.workers() & before, what="two new workers")
    run_task(board)


def test_killed_http_comes_back(board: Board) -> None:
    before = board.child("uvicorn")
    before.kill()
    eventually(lambda: not before.is_running() and board.is_ready(), what="HTTP answers again")
    run_task(board)


def test_killed_postgres_comes_back(board: Board) -> None:
    before = board.postmaster()
    assert before is not None
    os.kill(before, signal.SIGKILL)
    eventually(lambda: board.postmaster() not in (None, before) and board.is_ready(), what="ready again")
    run_task(board)
    assert "has been started again" in board.problems


def test_ctrl_c_leaves_nothing_and_loses_nothing(boards: Boards) -> None:
    board = boards()
    task_id = start_task(board, "steps", 120)
    board.interrupt()
    assert board.process.wait(30) == 0
    assert_nothing_is_left(board, 1)
    task = board.answer("show", task_id)
    assert (task["status"], task["attempt"]) == ("queued", 0)
    assert_nothing_is_left(board, 1)


def test_a_second_ctrl_c_hurries(boards: Boards) -> None:
    board = boards(CALLBOARD_GRACE_SECONDS=100)
    start_task(board, "stubborn", 200)
    board.interrupt(signal.SIGTERM)
    log = board.data_dir / "logs" / "workers.log"
    eventually(lambda: "Shutting down" in log.read_text(), what="the workers are asked to stop")
    board.interrupt()
    assert board.process.wait(20) == 0
    assert_nothing_is_left(board, 1)


def test_killing_it_ends_everything(boards: Boards) -> None:
    board = boards()
    board.process.kill()
    board.process.wait(10)
    assert_nothing_is_left(board, 30)


@pytest.mark.parametrize("name", ["short", "a-project-with-a-long-name-" * 6], ids=["short path", "long path"])
def test_comes_back_after_a_power_loss(folder: Path, name: str) -> None:
    """All processes are killed at once, and another program has the pid of Postgres at the next start."""
    board = Board(folder / name).ready()
    data = board.data_dir / "postgres"
    stranger = other_process(data, "sleep", "600")
    try:
        task_id = start_task(board, "steps", 600)
        socket_folder = Path((data / "postmaster.pid").read_text().splitlines()[4])
        board.lose_power()
        write_pid_into_lock_files(board.data_dir, stranger.pid, socket_folder)
        board = Board(folder / name).ready()
        run_task(board)
        assert board.answer("show", task_id)["attempt"] >= 1
        board.interrupt()
        assert board.process.wait(30) == 0
        assert_nothing_is_left(board, 1)
        assert stranger.poll() is None
    finally:
        board.destroy()
        stranger.kill()
        stranger.wait()


def test_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        folder = tmp_path / "data"
        line = refusal(1, "up", CALLBOARD_DATABASE_URL=None, CALLBOARD_DATA_DIR=folder, CALLBOARD_PORT=port)
        assert f"127.0.0.1:{port}" in line
        assert "CALLBOARD_PORT=" in line
        assert not folder.exists()


def test_a_service_that_cannot_start_is_named(folder: Path) -> None:
    board = Board(folder, CALLBOARD_ACTORS="no_such_module")
    try:
        assert board.process.wait(60) == 1
        assert "No module named 'no_such_module'" in board.problems
        assert f"cannot start: see {board.data_dir}/logs/" in board.problems
        assert_nothing_is_left(board, 1)
    finally:
        board.destroy()


def test_several_servers_share_one_port(boards: Boards) -> None:
    """One that is killed comes back, the others answer meanwhile, and the end of `up` is the end of all."""
    board = boards(CALLBOARD_SERVERS=2, CALLBOARD_PROCESSES=1)
    parent = board.child("uvicorn")

    def list_servers() -> list[psutil.Process]:
        found = []
        for child in parent.children():
            with suppress(psutil.Error):  # one that has just ended
                if "spawn_main" in " ".join(child.cmdline()):  # beside the tracker of multiprocessing
                    found.append(child)
        return found

    assert len(eventually(lambda: len(list_servers()) == 2 and list_servers(), what="two servers run")) == 2
    killed, left = list_servers()
    address = parent.net_connections(kind="tcp") or left.net_connections(kind="tcp")
    assert {each.laddr.ip for each in address if each.status == psutil.CONN_LISTEN} == {"127.0.0.1"}
    killed.kill()
    eventually(board.is_ready, what="the other one answers")
    eventually(
        lambda: len(list_servers()) == 2 and killed.pid not in {each.pid for each in list_servers()},
        what="another one has taken its place",
    )
    assert board.child("uvicorn").pid == parent.pid
    board.interrupt()
    assert board.process.wait(60) == 0
    eventually(lambda: not board.processes(), what="all are gone")
