"""Secrets of a worker cannot be read from a sandbox: not from /proc without isolation, and with isolation not even the
database can be reached."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

import actors  # noqa: F401  (sets the broker)
from providers.sandbox import bubblewrap
from state import submit
from state.tasks.reads import Task
from tests.providers.boxes import INTERPRETER, needs_bubblewrap
from tests.support.eventually import eventually
from tests.support.following import wait_until_finished
from tests.support.users import NOBODY, as_nobody, find_python, needs_nobody, nobodys_data_dir
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]

ROOT = Path(__file__).parents[2]
CANARY = "canary-5f1c93a7"

# Looks for the canary (whose text must not be in the code itself) in the environment and the memory of every process.
SEARCH = """
import os, re, sys
canary = "".join(reversed(sys.argv[1])).encode()
for pid in os.listdir("/proc"):
    if not pid.isdigit() or int(pid) in (os.getpid(), os.getppid()):
        continue
    for name in ("environ", "cmdline"):
        try:
            with open("/proc/%s/%s" % (pid, name), "rb") as file:
                if canary in file.read():
                    print("found in", name, "of", pid)
        except OSError:
            pass
    try:
        with open("/proc/%s/maps" % pid) as maps, open("/proc/%s/mem" % pid, "rb", 0) as memory:
            for line in maps:
                if "[stack]" in line:
                    start, end = (int(part, 16) for part in line.split()[0].split("-"))
                    memory.seek(start)
                    if canary in memory.read(end - start):
                        print("found in the memory of", pid)
    except (OSError, ValueError, OverflowError):
        pass
print("searched")
"""
# Tries to reach the server of a URL, by its socket or its port.
REACH = """
import socket, sys
for kind, address in ((socket.AF_UNIX, sys.argv[1]), (socket.AF_INET, ("127.0.0.1", int(sys.argv[2])))):
    try:
        with socket.socket(kind) as opened:
            opened.settimeout(5)
            opened.connect(address)
        print("reached", kind)
    except OSError as refused:
        print("refused", refused)
"""


def search(python: str = INTERPRETER) -> list[str]:
    return [python, "-I", "-c", SEARCH, CANARY[::-1]]


def run(*command: str) -> Task:
    payload = {"agent_name": "command", "task_type": "run", "input": {"command": list(command)}}
    task = wait_until_finished(submit("agent", payload).task_id)
    assert task.status == "completed", task.error
    return task


@pytest.fixture
def worker_with_canary(worker: Start, monkeypatch: pytest.MonkeyPatch) -> Start:
    monkeypatch.setenv("LEONARDO_API_KEY", CANARY)
    return worker


def test_the_search_finds_it_where_nothing_hides_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEONARDO_API_KEY", CANARY)
    with subprocess.Popen(["sleep", "300"]) as open_process:
        try:
            found = subprocess.run(search(), env={}, capture_output=True, text=True, check=True).stdout
        finally:
            open_process.kill()
    assert f"found in environ of {open_process.pid}\n" in found
    assert f"found in the memory of {open_process.pid}\n" in found


def test_the_search_from_a_box_of_the_same_user(worker_with_canary: Start, tmp_path: Path) -> None:
    worker_with_canary(sandbox="process")
    task = run(*search())
    assert task.result["sandbox"] == "process"
    assert task.result["output"] == "searched\n"


@needs_nobody
def test_the_search_from_a_box_of_a_normal_user(worker_with_canary: Start, database_url: str) -> None:
    with nobodys_data_dir(database_url) as data:
        tree = worker_with_canary(sandbox="process", data_dir=data, through=as_nobody())
        assert run("id", "-u").result["output"] == "65534\n"
        [process] = tree.children()
        assert is_hidden(process.pid)
        assert run(*search((find_python() or [""])[-1])).result["output"] == "searched\n"


def is_hidden(pid: int) -> bool:
    """What belongs to a normal user's process in /proc is root's if the process hides."""
    return Path(f"/proc/{pid}/environ").stat().st_uid == 0


@needs_nobody
def test_the_http_server_hides_as_well(database_url: str) -> None:
    with nobodys_data_dir(database_url) as data, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.set_inheritable(True)
        server = [
            "-m",
            "uvicorn",
            "--app-dir",
            "http",
            "--factory",
            "taskapi:create_app",
            "--fd",
            str(listener.fileno()),
        ]
        with subprocess.Popen(
            [*NOBODY, *(find_python() or []), *server],
            cwd=ROOT,
            env={**os.environ, "CALLBOARD_DATA_DIR": str(data)},
            pass_fds=(listener.fileno(),),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                eventually(lambda: is_hidden(process.pid), what="the server has started")
                assert process.poll() is None
            finally:
                process.kill()


# Without Landlock, which kernels before 5.19 do not have, it is the process itself that hides.
HIDES = "import sys; from state.workers.processes import hide_memory; {}; print('hidden', flush=True); sys.stdin.read()"


@needs_nobody
@pytest.mark.parametrize("hides", [True, False])
def test_a_process_hides_itself_from_its_own_user(hides: bool) -> None:
    code = HIDES.format("hide_memory()" if hides else "pass")
    python = (find_python() or [""])[-1]
    command = [*NOBODY, *(find_python() or []), "-c", code]
    environment = {"PATH": os.defpath, "LEONARDO_API_KEY": CANARY}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as hidden:
        assert hidden.stdin is not None
        assert hidden.stdout is not None
        assert hidden.stdout.readline() == "hidden\n"
        found = subprocess.run(
            [*NOBODY, "/usr/bin/env", *search(python)], env={}, capture_output=True, text=True, check=True
        ).stdout
        hidden.stdin.close()
    assert (f"of {hidden.pid}\n" in found) is not hides


@needs_bubblewrap
def test_with_isolation_neither_worker_nor_database_can_be_reached(
    worker_with_canary: Start, database_url: str, connection: Any
) -> None:
    connection.execute("CREATE TABLE public.canary AS SELECT %s AS value", [CANARY])
    info = psycopg.conninfo.conninfo_to_dict(database_url)
    reach = [INTERPRETER, "-I", "-c", REACH, f"{info.get('host')}/.s.PGSQL.{info.get('port', 5432)}", str(info["port"])]
    outside = subprocess.run(reach, capture_output=True, text=True, check=True).stdout
    assert "reached" in outside
    worker_with_canary(sandbox="isolated", sandbox_folders=sys.base_prefix)
    task = run(*reach)
    assert task.result["sandbox"] == "bubblewrap"
    assert "reached" not in task.result["output"]
    assert task.result["output"].count("refused [Errno") == 2
    assert run(*search()).result["output"] == "searched\n"
    everything = run("sh", "-c", "env; cat /proc/*/environ; ls -a / /workspace /tmp /home /root /run 2>&1").result[
        "output"
    ]
    assert CANARY not in everything
    assert str(Path(__file__).parents[2]) not in everything
    assert bubblewrap.WORKSPACE in everything
