"""The folder of a task's commands: no path leads out of it, its size is bounded, and it is removed."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from providers.sandbox.folder import Folder, remove_left_folders
from tests.support.eventually import eventually
from tests.support.users import NOBODY, find_python, needs_nobody

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    made = Folder(tmp_path / "workspaces", 1_000_000)
    yield made
    made.remove()


def test_files(folder: Folder) -> None:
    folder.write("a/b/c.txt", b"one")
    folder.write("a/b/c.txt", b"two")
    folder.write("./d", b"")
    Path(folder.path, ".tmp", "hidden").touch()
    Path(folder.path, "link").symlink_to("d")
    os.mkfifo(Path(folder.path, "pipe"))
    assert folder.list() == ["a/b/c.txt", "d"]
    assert (folder.read("a/b/c.txt"), folder.read("d")) == (b"two", b"")
    assert folder.size("a/b/c.txt") == 3
    with pytest.raises(FileNotFoundError, match="nothing"):
        folder.read("a/nothing")


@pytest.mark.parametrize("path", ["", "/", "/etc/passwd", "..", "../x", "a/../../x", "a\0b", "."])
def test_paths_that_lead_out(folder: Folder, path: str) -> None:
    with pytest.raises(ValueError, match="no path inside"):
        folder.read(path)
    with pytest.raises(ValueError, match="no path inside"):
        folder.write(path, b"x")


def test_links_that_lead_out(folder: Folder, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    outside = tmp_path / "outside"
    outside.mkdir()
    Path(folder.path, "file").symlink_to(secret)
    Path(folder.path, "folder").symlink_to(outside)
    Path(folder.path, "deep").mkdir()
    Path(folder.path, "deep", "folder").symlink_to(outside)
    for path in ("file", "folder/x", "deep/folder/x"):
        with pytest.raises(ValueError, match="symbolic link"):
            folder.read(path)
        with pytest.raises(ValueError, match="symbolic link"):
            folder.write(path, b"x")
    assert secret.read_text() == "secret"
    assert list(outside.iterdir()) == []
    assert folder.list() == []


def test_what_is_no_file(folder: Folder) -> None:
    os.mkfifo(Path(folder.path, "pipe"))  # opening it would wait for a writer
    with pytest.raises(ValueError, match="no file"):
        folder.read("pipe")
    folder.write("pipe", b"replaced")
    assert folder.read("pipe") == b"replaced"
    Path(folder.path, "below").mkdir()
    with pytest.raises(ValueError, match="no file"):
        folder.read("below")
    with pytest.raises(OSError, match="directory"):
        folder.write("below", b"x")
    assert sorted(path.name for path in Path(folder.path).iterdir()) == [".tmp", "below", "pipe"]


def test_its_size_is_bounded(folder: Folder) -> None:
    folder.write("large", b"x" * 900_000)
    with pytest.raises(ValueError, match="does not fit"):
        folder.write("more", b"x" * 200_000)
    huge = Path(folder.path, "huge")
    with huge.open("wb") as file:
        file.truncate(17 * 1024 * 1024)
    with pytest.raises(ValueError, match="more than"):
        folder.read("huge")


def test_it_is_removed_whatever_is_in_it(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "workspaces", 1_000_000)
    folder.write("a/b", b"x")
    Path(folder.path, "a").chmod(0o500)
    folder.remove()
    folder.remove()
    assert list((tmp_path / "workspaces").iterdir()) == []


def make_deep(path: Path, name: str, depth: int) -> None:
    """Makes folders below each other, deeper than a path can name."""
    current = os.open(path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=current)
        below = os.open(name, os.O_RDONLY, dir_fd=current)
        os.close(current)
        current = below
    os.close(os.open("file", os.O_CREAT, dir_fd=current))
    os.close(current)


@pytest.mark.parametrize(("name", "depth"), [("a", 1500), ("a" * 200, 60)], ids=["deep", "long"])
def test_folders_below_each_other_without_end(tmp_path: Path, name: str, depth: int) -> None:
    """Deeper than Python's stack; longer than a path."""
    folder = Folder(tmp_path / "workspaces", 100_000_000)
    make_deep(Path(folder.path), name, depth)
    if depth > 100:
        with pytest.raises(ValueError, match="below each other"):
            folder.list()
    else:
        assert len(folder.list()) == 1
    folder.remove()
    assert list((tmp_path / "workspaces").iterdir()) == []


def test_a_folder_too_deep_to_be_measured_is_too_large(folder: Folder) -> None:
    make_deep(Path(folder.path), "a" * 200, 60)
    with pytest.raises(ValueError, match="does not fit"):
        folder.write("b", b"x")


CLOSED = """
import os, sys
from pathlib import Path
from providers.sandbox.disk import measure
from providers.sandbox.folder import Folder
folder = Folder(Path(sys.argv[1]), 100_000_000)
deep = Path(folder.path, "a", "b")
deep.mkdir(parents=True)
(deep / "file").write_bytes(b"x" * 1_000_000)
for path in (deep, deep.parent, Path(folder.path)):
    path.chmod(int(sys.argv[3], 8))
if sys.argv[2] == "measured":
    print(measure(folder.path, 2**40) > 1_000_000)
else:
    folder.remove()
    print(not os.listdir(sys.argv[1]))
"""


@needs_nobody
@pytest.mark.parametrize(("what", "mode"), [("measured", "300"), ("measured", "400"), ("removed", "0")])
def test_folders_that_their_owner_may_not_read(what: str, mode: str) -> None:
    """A command can write to a folder that it has made unreadable. Root reads everything."""
    with tempfile.TemporaryDirectory() as workspaces:
        os.chown(workspaces, 65534, 65534)
        command = [*NOBODY, *(find_python() or []), "-c", CLOSED, workspaces, what, mode]
        ended = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    assert ended.stdout == "True\n", ended.stderr


def test_a_link_in_the_place_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    outside.chmod(0o500)
    folder = Folder(tmp_path / "workspaces", 1_000_000)
    Path(folder.path, "below").mkdir()
    Path(folder.path, "below", "link").symlink_to(outside)
    Path(folder.path, "link").symlink_to(outside)
    folder.remove()
    assert list((tmp_path / "workspaces").iterdir()) == []
    assert outside.stat().st_mode & 0o777 == 0o500
    assert (outside / "file").exists()


OWNER = """
import sys
from pathlib import Path
from providers.sandbox.folder import Folder
print(Folder(Path(sys.argv[1]), 1000).path, flush=True)
sys.stdin.read()
"""


def test_folders_of_dead_processes_are_removed_and_no_others(tmp_path: Path) -> None:
    owned = Folder(tmp_path, 1000)
    command = [sys.executable, "-c", OWNER, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        other = Path(owner.stdout.readline().strip())
        remove_left_folders(tmp_path)
        assert other.exists()
        owner.send_signal(signal.SIGKILL)

    def removed() -> bool:
        remove_left_folders(tmp_path)
        return not other.exists()

    eventually(removed, what="it is removed")
    assert Path(owned.path).exists()
    owned.remove()
