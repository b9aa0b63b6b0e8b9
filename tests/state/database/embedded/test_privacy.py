"""Every user of the machine has an embedded Postgres of its own, which no other user can reach."""

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from state.database.embedded import EmbeddedPostgres
from state.database.embedded.account import find_binaries
from state.errors import NotReady
from tests.support.embedded import LONG_NAME, Enter, MakeDataDir, fetch_value, postmasters_of, socket_folder_of

CONNECT = """
import os, socket, sys
os.setgroups([])
os.setuid(int(sys.argv[2]))
socket.socket(socket.AF_UNIX).connect(sys.argv[1])
"""


@pytest.fixture
def second_user(made: Path) -> int:
    """The uid of another user."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    try:
        uid = pwd.getpwnam("nobody").pw_uid  # initdb wants a name
    except KeyError:
        pytest.skip("there is no user `nobody`")
    try:
        subprocess.run([find_binaries() / "postgres", "--version"], check=True, stdout=subprocess.DEVNULL, user=uid)
    except PermissionError:
        pytest.skip("another user cannot run the programs of this checkout")
    return uid


@pytest.fixture(params=["data", LONG_NAME], ids=["short path", "long path"])
def own_of_second(request: pytest.FixtureRequest, make_data_dir: MakeDataDir, second_user: int) -> Path:
    data_dir = make_data_dir(f"second-{request.param}")
    subprocess.run(["chown", "-R", str(second_user), str(data_dir)], check=True)
    return data_dir


def owner_of_postgres(data_dir: Path) -> int:
    [postmaster] = postmasters_of(data_dir)
    return psutil.Process(postmaster).uids().effective


def test_its_environment_has_nothing_of_the_one_who_starts_it(
    enter: Enter, make_data_dir: MakeDataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other processes of its user can read it."""
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-canary")
    monkeypatch.setenv("CALLBOARD_CANARY", "canary")
    data_dir = make_data_dir("data")
    assert enter(data_dir).answer
    [postmaster] = postmasters_of(data_dir)
    found = psutil.Process(postmaster).environ()
    assert "PATH" in found
    assert not any("canary" in value for value in found.values())


def test_folder_and_socket_are_private(enter: Enter, any_data_dir: Path) -> None:
    url = enter(any_data_dir).answer
    folder = socket_folder_of(url)
    for path in (folder, folder / ".s.PGSQL.5432"):
        found = path.lstat()
        assert found.st_mode & 0o777 == 0o700
        assert found.st_uid == owner_of_postgres(any_data_dir)
    assert (any_data_dir / "postgres.lock").stat().st_mode & 0o777 == 0o600
    assert (any_data_dir / "postgres.users").stat().st_mode & 0o777 == 0o600
    assert fetch_value(url, "SHOW listen_addresses") == ""


def test_another_user_cannot_connect(enter: Enter, any_data_dir: Path, second_user: int) -> None:
    address = socket_folder_of(enter(any_data_dir).answer) / ".s.PGSQL.5432"
    command = [sys.executable, "-c", CONNECT, str(address)]
    assert subprocess.run([*command, str(os.getuid())]).returncode == 0
    refused = subprocess.run([*command, str(second_user)], capture_output=True, text=True)
    assert "PermissionError" in refused.stderr


def test_a_second_user_starts_its_own(enter: Enter, any_data_dir: Path, own_of_second: Path, second_user: int) -> None:
    first, second = enter(any_data_dir), enter(own_of_second, uid=second_user)
    assert fetch_value(first.answer, "SELECT 1") == 1
    assert second.answer.startswith("postgresql://")
    assert owner_of_postgres(own_of_second) == second_user
    assert owner_of_postgres(any_data_dir) not in (0, second_user)
    second.leave()
    assert postmasters_of(own_of_second) == []
    assert fetch_value(first.answer, "SELECT 1") == 1


def test_a_second_user_cannot_use_the_database_of_the_first(enter: Enter, any_data_dir: Path, second_user: int) -> None:
    first = enter(any_data_dir)
    assert fetch_value(first.answer, "SELECT 1") == 1
    assert "Permission denied" in enter(any_data_dir, uid=second_user).answer


def test_root_uses_the_database_of_another_user_as_that_user(
    enter: Enter, own_of_second: Path, second_user: int
) -> None:
    root = enter(own_of_second)
    assert fetch_value(root.answer, "SELECT 1") == 1
    assert owner_of_postgres(own_of_second) == second_user
    root.leave()
    owner = enter(own_of_second, uid=second_user)
    assert owner.answer.startswith("postgresql://")
    owner.leave()


@pytest.fixture
def taken_name(enter: Enter, make_data_dir: MakeDataDir) -> Iterator[tuple[Path, Path]]:
    """A data directory, and the folder in /tmp that its socket would lie in."""
    data_dir = make_data_dir(LONG_NAME)
    first = enter(data_dir)
    folder = socket_folder_of(first.answer)
    first.leave()
    assert not folder.exists()
    yield data_dir, folder
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        folder.rmdir()


def assert_not_used(enter: Enter, data_dir: Path, folder: Path) -> None:
    user = enter(data_dir)
    assert fetch_value(user.answer, "SELECT 1") == 1
    other = socket_folder_of(user.answer)
    assert other != folder
    assert other.lstat().st_mode & 0o777 == 0o700
    user.leave()
    assert not other.exists()


def test_a_link_in_the_place_of_its_folder_is_not_followed(
    enter: Enter, taken_name: tuple[Path, Path], tmp_path: Path
) -> None:
    data_dir, folder = taken_name
    folder.symlink_to(tmp_path)
    assert_not_used(enter, data_dir, folder)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_another_user_is_not_used(enter: Enter, taken_name: tuple[Path, Path], second_user: int) -> None:
    data_dir, folder = taken_name
    folder.mkdir()
    os.chown(folder, second_user, -1)
    assert_not_used(enter, data_dir, folder)
    assert list(folder.iterdir()) == []


def test_a_lock_file_with_a_second_name_is_not_written_to(data_dir: Path, tmp_path: Path) -> None:
    """If root uses the database of another user, that user could make root write to any file."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (data_dir / "postgres.lock").hardlink_to(victim)
    with pytest.raises(NotReady, match="more than one name"):
        EmbeddedPostgres(data_dir).url()
    assert victim.read_text() == "precious"
