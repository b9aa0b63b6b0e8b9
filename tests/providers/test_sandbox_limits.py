"""The limits of a whole sandbox: what many processes and many files use together, with the kernel's control groups and
by watching alone."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from providers.sandbox.cgroups import MOUNT, Group, list_members, remove_groups
from providers.sandbox.disk import measure
from providers.sandbox.kinds import Box
from providers.sandbox.limits import Limits
from providers.sandbox.memory import measure_memory
from providers.sandbox.sandbox import Result, Sandbox
from tests.providers.boxes import all_gone, every_box, find_descendants, python
from tests.support.eventually import eventually

MIB = 1024 * 1024

# Each process stays far below the limit, and they are together far above it.
MEMORY_HOG = """
import os, time
for _ in range(12):
    if os.fork() == 0:
        kept = bytearray(os.urandom(1024) * 1024 * 40)
        time.sleep(300)
time.sleep(300)
"""
FORK_BOMB = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
DISK_HOG = """
import os, time
number = 0
while True:
    with open("file-%d" % number, "wb") as out:
        out.write(b"x" * 1024 * 512)
    number += 1
"""
# Files without a name use the disk as well.
UNLINKED_HOG = """
import os, time
kept = []
for _ in range(40):
    file = open("unnamed", "wb")
    os.unlink("unnamed")
    file.write(b"x" * 1024 * 1024)
    file.flush()
    kept.append(file)
time.sleep(300)
"""
# Memory that no process has mapped.
MEMORY_FILE_HOG = """
import os, time
kept = []
for number in range(6):
    file = os.memfd_create("hog")
    for _ in range(40):
        os.write(file, b"x" * 1024 * 1024)
    kept.append(file)
time.sleep(300)
"""
THREAD_BOMB = """
import threading, time
threading.stack_size(65536)
while True:
    try:
        threading.Thread(target=time.sleep, args=[300]).start()
    except RuntimeError:
        pass
"""
# Fills a folder that is too deep for any path.
DEEP_HOG = """
import os, time
for number in range(30):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
for number in range(40):
    with open("file-%d" % number, "wb") as out:
        out.write(b"x" * 1024 * 1024)
time.sleep(300)
"""

Exhaust = Callable[..., Result]
by_groups = pytest.mark.parametrize("groups", [MOUNT, None], ids=["groups", "watching"])


@pytest.fixture
def exhaust(tmp_path: Path) -> Iterator[Exhaust]:
    """Runs code until a limit ends it, and checks that nothing is left of it."""
    started: list[Sandbox] = []

    def exhaust(code: str, box: Box, groups: str | None, **limits: Any) -> Result:
        sandbox = Sandbox(python(code), Limits(**limits), tmp_path / "workspaces", box=box, groups=groups)
        started.append(sandbox)
        sandbox.begin()
        seen = set()

        def ended() -> bool:
            seen.update(find_descendants(sandbox.supervisor.pid)[:1000])
            sandbox.read(0.05)
            return sandbox.ended

        eventually(ended, timeout=60)
        result = sandbox.result()
        eventually(lambda: all_gone(list(seen)), what="no process is left")
        assert not any(Path(path).exists() for path in sandbox.groups)
        return result

    yield exhaust
    for sandbox in started:
        sandbox.kill()


@every_box
@by_groups
def test_many_processes_that_use_too_much_memory_together(exhaust: Exhaust, box: Box, groups: str | None) -> None:
    result = exhaust(MEMORY_HOG, box, groups, memory=200 * MIB)
    assert (result.limit, result.exit_code, result.timed_out) == ("memory", -9, False)
    assert "bytes of memory" in result.output


@every_box
@by_groups
def test_a_fork_bomb(exhaust: Exhaust, box: Box, groups: str | None) -> None:
    result = exhaust(FORK_BOMB, box, groups, processes=40)
    assert (result.limit, result.exit_code) == ("processes", -9)
    assert "more than 40 processes" in result.output


@every_box
@by_groups
def test_many_threads(exhaust: Exhaust, box: Box, groups: str | None) -> None:
    result = exhaust(THREAD_BOMB, box, groups, processes=40)
    assert (result.limit, result.exit_code) == ("processes", -9)


@every_box
@by_groups
def test_files_in_memory(exhaust: Exhaust, box: Box, groups: str | None) -> None:
    assert exhaust(MEMORY_FILE_HOG, box, groups, memory=150 * MIB).limit == "memory"


@every_box
def test_a_folder_too_deep_to_be_looked_into(exhaust: Exhaust, box: Box) -> None:
    assert exhaust(DEEP_HOG, box, MOUNT, disk=20 * MIB).limit == "disk"


@every_box
def test_many_files(exhaust: Exhaust, box: Box) -> None:
    result = exhaust(DISK_HOG, box, MOUNT, disk=30 * MIB)
    assert (result.limit, result.exit_code) == ("disk", -9)
    assert "bytes on disk" in result.output


@every_box
def test_files_without_a_name(exhaust: Exhaust, box: Box) -> None:
    assert exhaust(UNLINKED_HOG, box, MOUNT, disk=20 * MIB).limit == "disk"


def test_memory_that_processes_share_counts_once(tmp_path: Path) -> None:
    code = (
        "import os, time\nkept = bytearray(os.urandom(1024) * 1024 * 40)\nfor _ in range(8):\n if not os.fork(): break"
    )
    sandbox = Sandbox(python(code + "\nopen(str(os.getpid()), 'w'); time.sleep(300)"), Limits(), tmp_path)
    try:
        sandbox.begin()
        eventually(lambda: sum(path.is_file() for path in Path(sandbox.workspace).iterdir()) == 9)
        pids = [process.pid for process in find_descendants(sandbox.supervisor.pid)]
        assert measure_memory(pids, 2**40) > 9 * 40 * MIB  # the cheap sum counts it for each process
        assert 40 * MIB < measure_memory(pids, 0) < 200 * MIB
    finally:
        sandbox.kill()


def test_the_size_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for number in range(10):
        (tmp_path / "a" / str(number)).write_bytes(b"x" * 100_000)
    (tmp_path / "link").symlink_to("/")
    assert 1_000_000 <= measure(str(tmp_path), 2**40) < 1_200_000
    assert 200_000 < measure(str(tmp_path), 200_000) < 400_000  # stops early
    for number in range(100):
        (tmp_path / f"empty-{number}").touch()
    assert measure(str(tmp_path), 2**40) > 1_100_000  # files without contents are not free


# A tree as version 2 of control groups shows it. It shows which files are written, not what a kernel does with them.
@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    own = tmp_path / "service" / "workers"
    own.mkdir(parents=True)
    (own / "cgroup.subtree_control").write_text("\n")
    (tmp_path / "service" / "cgroup.subtree_control").write_text("memory pids\n")
    made = Path.mkdir

    def mkdir(path: Path, *arguments: Any, **options: Any) -> None:
        made(path, *arguments, **options)
        if path.name.startswith("callboard-"):
            for name in ("memory.max", "memory.swap.max", "pids.max", "cgroup.procs"):
                (path / name).write_text("")

    monkeypatch.setattr(Path, "mkdir", mkdir)
    read = Path.read_text
    monkeypatch.setattr(
        Path,
        "read_text",
        lambda path, **options: "0::/service/workers\n" if str(path) == "/proc/self/cgroup" else read(path, **options),
    )
    return tmp_path


def test_version_2_makes_the_group_beside_the_own_one(tree: Path) -> None:
    group = Group("sb_1", 1000, 5, str(tree))
    path = tree / "service" / "callboard-sb_1"
    assert group.paths == [str(path)]
    assert [(path / name).read_text() for name in ("memory.max", "memory.swap.max", "pids.max")] == ["1000", "0", "5"]
    (path / "memory.events").write_text("oom 1\noom_kill 0\n")
    (path / "pids.events").write_text("max 0\n")
    assert group.find_exceeded() == ""
    (path / "pids.events").write_text("max 3\n")
    assert group.find_exceeded() == "processes"
    (path / "memory.events").write_text("oom 1\noom_kill 2\n")
    assert group.find_exceeded() == "memory"
    (path / "cgroup.procs").write_text("7\n8\n")
    assert list_members([*group.paths, str(tree / "service")]) == {7, 8}  # only of groups that we have made


def test_without_writable_groups_there_are_none(tree: Path) -> None:
    (tree / "service" / "cgroup.subtree_control").write_text("cpu\n")
    assert Group("sb_1", 1000, 5, str(tree)).paths == []
    assert Group("sb_1", 1000, 5, str(tree / "nowhere")).paths == []
    remove_groups([str(tree / "service")])
    assert (tree / "service").exists()
