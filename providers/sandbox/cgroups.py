"""Control groups: the kernel's own bounds for the memory and the number of processes of a whole sandbox. They exist
where this user may make a group below its own, or beside it (version 2 gives no controllers to the groups below one
that has processes). Elsewhere the supervisor watches alone."""

import os
import time
from contextlib import suppress
from pathlib import Path

MOUNT = "/sys/fs/cgroup"
_PREFIX = "callboard-"
_REMOVALS = 25  # attempts
_CONTROLLERS = ("memory", "pids")


class Group:
    """The groups of one sandbox: one with version 2, one for each controller with version 1."""

    def __init__(self, name: str, memory: int, processes: int, mount: str | None) -> None:
        """Makes what can be made. Without `mount` nothing is."""
        self.paths: list[str] = []
        for parent, controllers in _find_parents(Path(mount)) if mount else []:
            path = parent / (_PREFIX + name)
            try:
                path.mkdir()
            except OSError:
                continue
            try:
                if "memory" in controllers:
                    _limit_memory(path, memory)
                if "pids" in controllers:
                    (path / "pids.max").write_text(str(processes))
                self.paths.append(str(path))
            except OSError:
                with suppress(OSError):
                    path.rmdir()

    def join(self) -> None:
        """Moves this process into the groups. Where the kernel refuses it, watching is what is left."""
        for path in self.paths:
            with suppress(OSError):
                Path(path, "cgroup.procs").write_text("0")

    def find_exceeded(self) -> str:
        """Returns the name of the limit that the kernel had to enforce, or ""."""
        for path in self.paths:
            if _read_counter(path, "memory.events", "oom_kill") or _read_counter(
                path, "memory.oom_control", "oom_kill"
            ):
                return "memory"
            if _read_counter(path, "pids.events", "max"):
                return "processes"
        return ""


def list_members(paths: list[str]) -> set[int]:
    found: set[int] = set()
    for path in filter(_is_ours, paths):
        with suppress(OSError):
            found.update(map(int, Path(path, "cgroup.procs").read_text().split()))
    return found


def remove_groups(paths: list[str]) -> None:
    """Removes groups without processes; the kernel refuses to remove others."""
    for path in filter(_is_ours, paths):
        for _ in range(_REMOVALS):
            try:
                os.rmdir(path)  # noqa: PTH106
                break
            except FileNotFoundError:
                break
            except OSError:  # the kernel needs a moment after the last process has ended
                time.sleep(0.02)


def _is_ours(path: str) -> bool:
    return Path(path).name.startswith(_PREFIX)


def _find_parents(mount: Path) -> list[tuple[Path, tuple[str, ...]]]:
    """Returns folders in which groups may be made, with the controllers that each one has."""
    found: list[tuple[Path, tuple[str, ...]]] = []
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    for line in lines:
        _, names, path = line.split(":", 2)
        if names in _CONTROLLERS:
            found.append((_below(mount / names, path), (names,)))
        elif names == "" and (mount / "cgroup.controllers").exists():
            own = _below(mount, path)
            found += [(folder, _CONTROLLERS) for folder in (own, own.parent) if _gives_controllers(folder)][:1]
    return [(folder, controllers) for folder, controllers in found if os.access(folder, os.W_OK)]


def _below(mount: Path, path: str) -> Path:
    return mount / path.lstrip("/")


def _gives_controllers(folder: Path) -> bool:
    try:
        given = (folder / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False
    return os.access(folder, os.W_OK) and set(_CONTROLLERS) <= set(given)


def _limit_memory(path: Path, memory: int) -> None:
    first, swap = ("memory.max", "memory.swap.max") if (path / "memory.max").exists() else ("memory.limit_in_bytes", "")
    (path / first).write_text(str(memory))
    if swap and (path / swap).exists():
        (path / swap).write_text("0")
    if (total := path / "memory.memsw.limit_in_bytes").exists():  # version 1: memory and swap together
        total.write_text(str(memory))


def _read_counter(path: str, file: str, name: str) -> int:
    with suppress(OSError):
        for line in Path(path, file).read_text().splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    return 0
