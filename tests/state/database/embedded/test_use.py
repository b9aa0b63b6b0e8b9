"""The embedded Postgres is started by the first of its users and stopped by the last."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from state.database.embedded import EmbeddedPostgres
from state.database.embedded.account import choose_account, find_binaries
from state.errors import NotReady
from tests.support.embedded import Enter, fetch_value, postmasters_of, processes_of
from tests.support.eventually import eventually

FORKS = """
import os, sys, time
from pathlib import Path
from state.database.embedded import EmbeddedPostgres

used = EmbeddedPostgres(Path(sys.argv[1]))
print(used.url(), flush=True)
if sys.argv[2] == "child ends":
    if os.fork() == 0:
        used.release()
        sys.exit()
    os.wait()
elif os.fork() == 0:
    os.close(1)
    time.sleep(600)
print("forked", flush=True)
sys.stdin.read()
"""


def run_forking(data_dir: Path, what: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", FORKS, str(data_dir), what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("postgresql://")
    assert process.stdout.readline() == "forked\n"
    return process


def end(process: "subprocess.Popen[str]") -> None:
    os.killpg(process.pid, 9)
    process.communicate()


def test_the_last_one_out_stops_it(enter: Enter, any_data_dir: Path) -> None:
    first, second = enter(any_data_dir), enter(any_data_dir)
    assert first.answer == second.answer
    first.leave()
    assert fetch_value(second.answer, "SELECT 1") == 1
    second.leave()
    assert processes_of(any_data_dir) == []
    assert not (any_data_dir / "postgres" / "postmaster.pid").exists()


def test_users_that_come_while_others_leave_always_find_it(enter: Enter, data_dir: Path) -> None:
    for _ in range(2):
        leaving = enter(data_dir)
        leaving.answer  # noqa: B018  (it is in)
        coming = enter(data_dir)
        leaving.leave()
        assert fetch_value(coming.answer, "SELECT 1") == 1
        assert len(postmasters_of(data_dir)) == 1
        coming.leave()
    assert processes_of(data_dir) == []


def test_a_forked_child_that_ends_releases_nothing(data_dir: Path) -> None:
    parent = run_forking(data_dir, "child ends")
    try:
        assert len(postmasters_of(data_dir)) == 1
    finally:
        end(parent)


def test_a_forked_child_holds_nothing_when_its_parent_is_gone(data_dir: Path) -> None:
    parent = run_forking(data_dir, "child stays")
    try:
        parent.kill()
        parent.wait(10)
        own = EmbeddedPostgres(data_dir)
        own.url()
        own.release()  # as the last one: the child that still lives is no user
        assert processes_of(data_dir) == []
    finally:
        end(parent)


def start_as_the_release_before(data_dir: Path) -> None:
    """With pg_ctl, and so without our lock."""
    data = data_dir / "postgres"
    subprocess.run(
        [find_binaries() / "pg_ctl", "-w", "-o", f"-h '' -k {data}", "-l", data / "log", "-D", data, "start"],
        check=True,
        stdout=subprocess.DEVNULL,
        **choose_account(data).switch(),
    )


def test_a_server_of_the_release_before_is_shared_with_its_users(enter: Enter, data_dir: Path) -> None:
    start_as_the_release_before(data_dir)
    before = postmasters_of(data_dir)
    with (data_dir / "postgres.users").open("w") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        user = enter(data_dir)
        assert fetch_value(user.answer, "SELECT 1") == 1
        assert postmasters_of(data_dir) == before
        user.leave()
        assert postmasters_of(data_dir) == before


def test_an_orphan_of_the_release_before_is_replaced(enter: Enter, data_dir: Path) -> None:
    start_as_the_release_before(data_dir)
    before = postmasters_of(data_dir)
    user = enter(data_dir)
    assert fetch_value(user.answer, "SHOW unix_socket_permissions") == "0700"
    [after] = postmasters_of(data_dir)
    assert [after] != before
    user.leave()
    assert processes_of(data_dir) == []


def test_lock_files_stay_while_the_release_before_may_use_them(data_dir: Path, recycled_pid: int) -> None:
    """Its servers hold no lock, and can be in another container."""
    lock_file = data_dir / "postgres" / "postmaster.pid"
    lock_file.write_text(f"{recycled_pid}\n/elsewhere\n")
    own = EmbeddedPostgres(data_dir)
    with (data_dir / "postgres.users").open("w") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        with pytest.raises(NotReady, match=str(recycled_pid)):
            own.url()
        assert lock_file.read_text() == f"{recycled_pid}\n/elsewhere\n"
    assert fetch_value(own.url(), "SELECT 1") == 1
    own.release()


def test_the_error_says_why_it_does_not_start(data_dir: Path) -> None:
    with (data_dir / "postgres" / "postgresql.conf").open("a") as config:
        config.write("nonsense = 1\n")
    with pytest.raises(NotReady, match="nonsense"):
        EmbeddedPostgres(data_dir).url()
    eventually(lambda: processes_of(data_dir) == [])
