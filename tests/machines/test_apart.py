"""Worker processes of one machine that hardly see each other: other users, a hidden /proc, containers whose processes
have the same pids. Nobody alive is taken for dead, and who has died is found all the same."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import actors  # noqa: F401
import tests.support.journalactors  # noqa: F401
from state import NewTask, cancel, get_task, submit_many
from tests.machines.conftest import ACTORS, LEASE, PULSE
from tests.machines.verdict import find_executions, find_violations
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.users import find_python, needs_nobody, nobodys_data_dir
from tests.support.workers import WorkerTree

_CONTAINER = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
_THREADS = 2


def as_user(uid: int, proc: str) -> list[str]:
    """The command that runs another one as this user, with such a /proc (systemd: ProtectProc, ProcSubset). The first
    argument is this Python, which the user may not be able to use."""
    user = f"setpriv --reuid={uid} --regid=65534 --clear-groups -- {' '.join(find_python() or [])}"
    return ["unshare", "--mount", "sh", "-c", f'mount -t proc -o {proc} proc /proc && shift && exec {user} "$@"', "sh"]


_PLACES = {
    "a user": as_user(65533, "hidepid=invisible,subset=pid"),
    "another user": as_user(65532, "hidepid=invisible"),
    "container 1": _CONTAINER,
    "container 2": _CONTAINER,
}


@pytest.fixture
def shared(database_url: str) -> Iterator[Path]:
    """A folder for all users."""
    for through in _PLACES.values():
        tried = subprocess.run([*through, "true", "--version"], capture_output=True, text=True, check=False)
        if tried.returncode != 0:
            pytest.skip(f"this machine has no such namespaces: {tried.stderr.strip()}")
    with nobodys_data_dir(database_url) as folder:
        folder.chmod(0o777)
        yield folder


@needs_nobody
def test_workers_that_hardly_see_each_other(
    shared: Path, database_url: str, connection: Observer, tmp_path: Path
) -> None:
    journal = shared / "journal"
    journal.touch()
    journal.chmod(0o666)
    beats = shared / "journal.beats"
    beats.mkdir(mode=0o777)
    beats.chmod(0o777)

    def start(name: str, through: list[str]) -> WorkerTree:
        settings: dict[str, Any] = {"actors": ACTORS, "lease_seconds": LEASE, "pulse_seconds": PULSE}
        return WorkerTree(tmp_path / f"{name}.log", threads=_THREADS, through=through, data_dir=shared, **settings)

    def ask(seconds: float, actor: str = "journal_slow") -> list[str]:
        """As many as there are places."""
        payload = {"journal": str(journal), "seconds": seconds}
        ids = submit_many([NewTask(actor, payload) for _ in range(len(_PLACES) * _THREADS)])
        eventually(lambda: {run.task for run in find_executions(journal, *ids)} == set(ids), what="all have begun")
        return ids

    def wait(ids: list[str]) -> None:
        eventually(lambda: all(get_task(each).finished for each in ids), timeout=60, every=0.1)

    with ExitStack() as stack:
        trees = {name: start(name, through) for name, through in _PLACES.items()}
        for tree in trees.values():
            stack.callback(tree.kill)
        for tree in trees.values():
            tree.wait_ready()
        places = connection.execute("SELECT host, boot_id, pid_namespace, pid FROM callboard.workers").fetchall()
        alike = [place for place in places if [other["pid"] for other in places].count(place["pid"]) == 2]
        assert len(alike) == 2, "the containers have the same pids"
        assert alike[0] == {**alike[1], "pid_namespace": alike[0]["pid_namespace"]}

        quiet = ask(LEASE + 2)
        wait(quiet)
        outcomes = connection.execute("SELECT outcome, count(*) AS n FROM callboard.attempts GROUP BY 1").fetchall()
        assert outcomes == [{"outcome": "completed", "n": len(quiet)}]

        # Code that does not stop: each of these processes replaces itself, and the new one knows that the old is gone.
        stubborn = ask(600, "journal_swallow")
        for each in stubborn:
            cancel(each, force=True)
        wait(stubborn)

        broken = ask(3)
        for name in ("another user", "container 2"):
            trees[name].signal_all(signal.SIGKILL)
        wait(broken)
    lost = connection.fetch_one("SELECT count(*) AS n FROM callboard.attempts WHERE outcome = 'lost'")
    assert lost == {"n": 2 * _THREADS}
    assert find_violations(database_url, journal, LEASE, [*quiet, *stubborn, *broken], stubborn) == []
