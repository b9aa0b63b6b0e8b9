"""`callboard up` of one user, seen by another user of the machine: no database, no file, no command."""

import json
import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from state.database.embedded.passwords import ROLES
from state.database.embedded.postmaster import Postmaster
from tests.cli.board import Board
from tests.cli.command import callboard
from tests.support.users import NOBODY, find_python, needs_nobody

pytestmark = needs_nobody

# Each function returns what it could do; everything it could not do is left out.
INTRUDER = """
import json, os, socket, subprocess, sys
import psycopg
from urllib.request import Request, urlopen
from urllib.error import HTTPError
from pathlib import Path

given = json.loads(sys.stdin.read())

def reads():
    for path in given["paths"]:
        try:
            os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(1)
            yield path
        except OSError:
            pass
    for pid in given["pids"]:
        try:
            open(f"/proc/{pid}/environ", "rb").read(1)
            yield f"environment of {pid}"
        except OSError:
            pass

def connects():
    for url in given["urls"]:
        try:
            psycopg.connect(url, connect_timeout=5).close()
            yield url
        except psycopg.OperationalError as refused:
            reasons.append(str(refused))

def commands():
    for arguments in (["list"], ["submit", "note"], ["migrate"]):
        command = [sys.executable, "-c", "from deploy.cli import main; main()", *arguments]
        done = subprocess.run(command, env={**os.environ, "CALLBOARD_DATA_DIR": given["data_dir"]}, capture_output=True)
        if done.returncode == 0:
            yield arguments
    body = {"actor": "agent", "payload": {"agent_name": "command", "task_type": "run", "input": {"command": ["id"]}}}
    request = Request(given["url"] + "/api/v1/tasks", json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        yield urlopen(request, timeout=10).status
    except HTTPError as refused:
        reasons.append(f"{refused.code} {refused.read().decode()}")

reasons = []
print(json.dumps({"uid": os.getuid(), "read": list(reads()), "connected": list(connects()),
                  "commanded": list(commands()), "reasons": reasons}))
"""


@pytest.fixture(scope="module")
def board() -> Iterator[Board]:
    """With something in every folder: contents, workspaces, logs."""
    with tempfile.TemporaryDirectory(prefix="callboard-tests-") as folder:
        Path(folder).chmod(0o755)
        old = Path(folder) / "data" / "logs" / "http.log"
        old.parent.mkdir(parents=True)  # as an earlier release has made them, for everybody to read
        old.write_text("old")
        running = Board(Path(folder))
        try:
            running.ready()
            for arguments in (
                ("media_generation", "--set", "prompt=a fox", "--set", "params.steps=1"),
                ("note", "--set", "value=42"),
            ):
                done = callboard("submit", *arguments, "--watch", **running.environment)
                assert done.returncode == 0, done
            yield running
        finally:
            running.destroy()


def list_files(board: Board) -> list[Path]:
    return [board.data_dir, *board.data_dir.rglob("*")]


def intrude(board: Board, urls: list[str]) -> dict[str, Any]:
    """Does everything that another user could try."""
    given = {
        "paths": [str(path) for path in list_files(board)],
        "pids": [process.pid for process in board.processes()],
        "urls": urls,
        "url": board.announcement["url"],
        "data_dir": str(board.data_dir),
    }
    command = [*NOBODY, *(find_python() or []), "-c", INTRUDER]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["uid"] == 65534
    return found


def addresses(board: Board) -> list[str]:
    running = Postmaster.read(board.data_dir / "postgres")
    assert running is not None
    sockets = [running.url(role) for role in (*ROLES, "postgres")]
    return [*sockets, *(f"postgresql://{role}@127.0.0.1:{running.port}/postgres" for role in (*ROLES, "postgres"))]


def test_another_user_reads_nothing_connects_to_nothing_and_commands_nothing(board: Board) -> None:
    kinds = {path.relative_to(board.data_dir).parts[0] for path in list_files(board)[1:]}
    assert kinds >= {"postgres", "postgres.passwords", "contents", "logs"}
    found = intrude(board, addresses(board))
    assert (found["read"], found["connected"], found["commanded"]) == ([], [], [])
    assert any(reason.startswith("403 ") and "CALLBOARD_COMMANDS" in reason for reason in found["reasons"])


@contextmanager
def opened(socket: Path) -> Iterator[None]:
    """As if somebody had opened all folders and the socket."""
    modes = {path: path.stat().st_mode for path in (socket, *socket.parents)}
    for path, mode in modes.items():
        path.chmod(mode | (0o006 if path == socket else 0o001))
    try:
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


def test_who_reaches_the_socket_is_asked_for_a_password(board: Board) -> None:
    running = Postmaster.read(board.data_dir / "postgres")
    assert running is not None
    with opened(running.socket_folder / f".s.PGSQL.{running.port}"):
        found = intrude(board, [running.url(role) for role in (*ROLES, "postgres")])
    assert found["connected"] == []
    asked = [reason for reason in found["reasons"] if "password" in reason]
    assert len(asked) == len(ROLES)
    assert any("no pg_hba.conf entry" in reason and '"postgres"' in reason for reason in found["reasons"])


def test_folders_and_files_have_the_modes_that_are_promised(board: Board) -> None:
    expected = {
        ".": 0o750, "postgres": 0o700, "postgres.passwords": 0o600, "logs": 0o750, "logs/http.log": 0o640,
        "logs/workers.log": 0o640, "logs/http.log.1": 0o640, "contents": 0o750,
    }  # fmt: skip
    found = {name: stat.S_IMODE((board.data_dir / name).stat().st_mode) for name in expected}
    assert {name: oct(mode) for name, mode in found.items()} == {name: oct(mode) for name, mode in expected.items()}
    assert (board.data_dir / "postgres.passwords").stat().st_uid == os.geteuid()
    others = [path for path in list_files(board) if path.lstat().st_mode & 0o007 and path.parent == board.data_dir]
    assert others == []


def test_no_password_is_where_it_can_be_seen(board: Board) -> None:
    """Not on a command line, not in an environment, not in a log, not in an address."""
    lines = (board.data_dir / "postgres.passwords").read_text().splitlines()
    secrets = [line.rpartition(":")[2] for line in lines if not line.startswith("#")]
    assert len(set(secrets)) == len(ROLES)
    seen = [*addresses(board), board.problems]
    for process in board.processes():
        seen += [" ".join(process.cmdline()), *process.environ().values()]
    for path in list_files(board):
        if path.is_file() and path.name != "postgres.passwords":
            seen.append(path.read_bytes().decode("latin-1"))
    assert [text[:200] for text in seen for secret in secrets if secret in text] == []


def test_nobody_works_as_superuser_and_each_process_as_its_role(board: Board) -> None:
    running = Postmaster.read(board.data_dir / "postgres")
    assert running is not None
    titles = [" ".join(process.cmdline()) for process in psutil.Process(running.pid).children()]
    users = {role for role in (*ROLES, "postgres") for title in titles if f"postgres: {role} " in title}
    assert users >= {"callboard_api", "callboard_worker"}
    assert "postgres" not in users
    assert psutil.Process(running.pid).net_connections("inet") == []


def test_up_warns_when_it_runs_as_root(board: Board) -> None:
    assert board.problems.count("running as root") == 1
