"""After any crash, the embedded Postgres comes back with its data, and there are never two on one folder."""

import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from state.database.embedded import EmbeddedPostgres, PostgresServer, server
from state.database.embedded.filelock import FileLock
from state.errors import NotReady
from tests.support.embedded import (
    EmbeddedUser,
    Enter,
    MakeDataDir,
    execute,
    fetch_value,
    kill_postgres,
    postmasters_of,
    processes_of,
    socket_folder_of,
    write_pid_into_lock_files,
)
from tests.support.eventually import eventually

# A pid namespace whose first process lives on when the user of the database has been killed.
OTHER_PID_NAMESPACE = (
    "unshare",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
    "sh",
    "-c",
    '"$@"; sleep 600',
    "sh",
)


def lose_power(data_dir: Path, *users: EmbeddedUser) -> None:
    """Everybody is killed at once."""
    for user in users:
        user.process.send_signal(signal.SIGSTOP)
    kill_postgres(data_dir)
    for user in users:
        user.kill()


def keep_a_row(url: str) -> None:
    execute(url, "CREATE TABLE kept (value integer)")
    execute(url, "INSERT INTO kept VALUES (42)")


def kept_row(url: str) -> int:
    return int(fetch_value(url, "SELECT value FROM kept"))


def can_make_pid_namespaces() -> bool:
    return subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], capture_output=True).returncode == 0


def test_comes_back_after_a_power_loss(enter: Enter, any_data_dir: Path, recycled_pid: int) -> None:
    users = [enter(any_data_dir), enter(any_data_dir)]
    url = users[0].answer
    assert users[1].answer == url
    keep_a_row(url)
    lose_power(any_data_dir, *users)
    write_pid_into_lock_files(any_data_dir, recycled_pid, socket_folder_of(url))
    after = enter(any_data_dir)
    assert kept_row(after.answer) == 42
    assert after.answer == url
    after.leave()
    assert psutil.pid_exists(recycled_pid)


def test_comes_back_when_only_postgres_was_killed(enter: Enter, data_dir: Path, recycled_pid: int) -> None:
    stays = enter(data_dir)
    keep_a_row(stays.answer)
    kill_postgres(data_dir)
    write_pid_into_lock_files(data_dir, recycled_pid, socket_folder_of(stays.answer))
    assert kept_row(enter(data_dir).answer) == 42
    assert kept_row(stays.answer) == 42


def test_the_pid_of_another_postgres_is_not_taken_for_it(
    enter: Enter, make_data_dir: MakeDataDir, data_dir: Path
) -> None:
    other_dir = make_data_dir("other")
    other, user = enter(other_dir), enter(data_dir)
    url = user.answer
    assert other.answer != url
    keep_a_row(url)
    lose_power(data_dir, user)
    [other_postmaster] = postmasters_of(other_dir)
    write_pid_into_lock_files(data_dir, other_postmaster, socket_folder_of(url))
    after = enter(data_dir)
    assert kept_row(after.answer) == 42
    after.leave()
    assert postmasters_of(other_dir) == [other_postmaster]


@pytest.mark.parametrize("text", ["", "4711\n", "4711\n/some/folder\n1700000000\n5432\n\n"])
def test_incomplete_lock_files(enter: Enter, data_dir: Path, text: str) -> None:
    user = enter(data_dir)
    keep_a_row(user.answer)
    lose_power(data_dir, user)
    (data_dir / "postgres" / "postmaster.pid").write_text(text)
    (data_dir / "postgres" / ".s.PGSQL.5432.lock").write_text("")
    assert kept_row(enter(data_dir).answer) == 42


def test_the_leftovers_of_a_killed_initdb_are_replaced(enter: Enter, data_dir: Path) -> None:
    (data_dir / "postgres").rename(data_dir / "postgres.new")
    (data_dir / "postgres.new" / "global" / "pg_control").unlink()
    assert fetch_value(enter(data_dir).answer, "SELECT 1") == 1
    assert not (data_dir / "postgres.new").exists()


def test_many_starters_after_a_power_loss_get_one_server(enter: Enter, any_data_dir: Path, recycled_pid: int) -> None:
    user = enter(any_data_dir)
    url = user.answer
    lose_power(any_data_dir, user)
    write_pid_into_lock_files(any_data_dir, recycled_pid, socket_folder_of(url))
    starters = [enter(any_data_dir) for _ in range(3)]
    assert {starter.answer for starter in starters} == {url}
    assert len(postmasters_of(any_data_dir)) == 1


def test_an_orphan_is_used_and_stopped_by_the_last_user(enter: Enter, any_data_dir: Path) -> None:
    first = enter(any_data_dir)
    keep_a_row(first.answer)
    before = postmasters_of(any_data_dir)
    first.kill()
    second, third = enter(any_data_dir), enter(any_data_dir)
    assert kept_row(second.answer) == kept_row(third.answer) == 42
    assert postmasters_of(any_data_dir) == before
    second.leave()
    assert postmasters_of(any_data_dir) == before
    third.leave()
    assert processes_of(any_data_dir) == []


def test_an_orphan_whose_socket_was_deleted_is_replaced(
    enter: Enter, any_data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_RESTART_SECONDS", 0.1)
    user = enter(any_data_dir)
    keep_a_row(user.answer)
    [before] = postmasters_of(any_data_dir)
    user.kill()
    folder = socket_folder_of(user.answer)
    for path in folder.glob(".s.PGSQL.*"):
        path.unlink()
    assert not PostgresServer(any_data_dir / "postgres").is_running()
    own = EmbeddedPostgres(any_data_dir)
    assert kept_row(own.url()) == 42
    [after] = postmasters_of(any_data_dir)
    assert after != before
    own.release()


def test_children_of_a_killed_postmaster_keep_the_next_one_out(enter: Enter, data_dir: Path) -> None:
    """They still have its files and its memory."""
    user = enter(data_dir)
    keep_a_row(user.answer)
    [before] = postmasters_of(data_dir)
    child = psutil.Process(before).children()[0]
    child.suspend()
    try:
        os.kill(before, signal.SIGKILL)
        eventually(lambda: [process.pid for process in processes_of(data_dir)] == [child.pid])
        lock_files = (data_dir / "postgres" / "postmaster.pid").read_text()
        starter = enter(data_dir)
        with pytest.raises(subprocess.TimeoutExpired):
            starter.process.wait(2)  # nothing can be awaited: it must not start
        assert [process.pid for process in processes_of(data_dir)] == [child.pid]
        assert (data_dir / "postgres" / "postmaster.pid").read_text() == lock_files
    finally:
        child.resume()
    assert kept_row(starter.answer) == 42


def test_lock_files_stay_while_a_process_holds_the_lock(
    enter: Enter, data_dir: Path, recycled_pid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server whose processes cannot be seen."""
    monkeypatch.setattr(server, "_UNREACHABLE_SECONDS", 0.5)
    user = enter(data_dir)
    keep_a_row(user.answer)
    lose_power(data_dir, user)
    write_pid_into_lock_files(data_dir, recycled_pid, data_dir / "postgres")
    before = (data_dir / "postgres" / "postmaster.pid").read_text()
    own = EmbeddedPostgres(data_dir)
    with FileLock(data_dir / "postgres.lock") as held:
        assert held.try_exclusive()
        with pytest.raises(NotReady, match="another container"):
            own.url()
        assert (data_dir / "postgres" / "postmaster.pid").read_text() == before
        assert (data_dir / "postgres" / ".s.PGSQL.5432.lock").exists()
        assert processes_of(data_dir) == []
    assert kept_row(own.url()) == 42
    own.release()


@pytest.mark.skipif(not can_make_pid_namespaces(), reason="needs the right to make pid namespaces")
def test_a_server_in_another_pid_namespace(
    enter: Enter, data_dir: Path, recycled_pid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in another container on the same volume: its pid says nothing here."""
    monkeypatch.setattr(server, "_RESTART_SECONDS", 0.1)
    monkeypatch.setattr(server, "_UNREACHABLE_SECONDS", 1.0)
    inside = enter(data_dir, prefix=OTHER_PID_NAMESPACE)
    keep_a_row(inside.answer)
    [postmaster] = postmasters_of(data_dir)
    assert int((data_dir / "postgres" / "postmaster.pid").read_text().split("\n")[0]) != postmaster
    write_pid_into_lock_files(data_dir, recycled_pid, data_dir / "postgres")

    assert kept_row(enter(data_dir).answer) == 42  # by its socket
    own = EmbeddedPostgres(data_dir)
    assert kept_row(own.url()) == 42
    own.release()

    (data_dir / "postgres" / ".s.PGSQL.5432").unlink()
    for _ in range(2):
        with pytest.raises(NotReady, match="another container"):
            own.url()
    assert postmasters_of(data_dir) == [postmaster]
    assert (data_dir / "postgres" / "postmaster.pid").exists()
    assert psutil.pid_exists(recycled_pid)
