"""Kills the processes of a sandbox whose supervisor was lost: killed by the command, for lack of memory, or with its
worker. They are found by their supervisor, their control group, their variable HOME or their container; a pid alone
proves nothing, because another process may have got it since."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from providers.sandbox.cgroups import list_members, remove_groups
from providers.sandbox.descendants import list_descendants
from providers.sandbox.engines import kill_container
from providers.sandbox.processes import Process, find, kill, lives
from providers.sandbox.removal import remove_tree

WORKSPACE = "sandbox-"  # the names of the folders of single commands begin with it
_ROUND = 0.02  # seconds between two rounds of killing


@dataclass(frozen=True, slots=True)
class Remains:
    """What is known of a sandbox."""

    supervisor: Process
    workspace: str
    kind: str
    container: str | None = None
    groups: list[str] = field(default_factory=list)
    survivors: list[Process] = field(default_factory=list)  # that an earlier attempt could not kill


def kill_leftovers(remains: Remains, seconds: float) -> tuple[int, list[Process]]:
    """Returns the number of killed processes, and survivors."""
    killed: set[Process] = set()
    deadline = time.monotonic() + seconds
    left: set[Process] = set()
    if remains.container is not None:
        left = {find(pid) for pid in kill_container(remains.kind, remains.container, seconds)}
        deadline = time.monotonic() + seconds
    contained = list(left)
    tried = False  # on a busy machine, the search alone can take that long
    while left := set(find_processes(remains)):
        if tried and time.monotonic() >= deadline:
            break
        killed.update(process for process in left if kill(process))
        tried = True
        time.sleep(_ROUND)
    remove_groups(remains.groups)
    if Path(remains.workspace).name.startswith(WORKSPACE):  # else the folder's own lock says when it is left
        remove_tree(remains.workspace)
    survivors = sorted({*left, *contained})
    return len(killed.difference(survivors)), survivors


def find_processes(remains: Remains) -> Iterator[Process]:
    """Yields the living processes of a sandbox, its supervisor first."""
    if lives(remains.supervisor):
        yield remains.supervisor
        yield from filter(lives, map(find, list_descendants(remains.supervisor.pid)))
    yield from filter(lives, remains.survivors)
    yield from filter(lives, map(find, list_members(remains.groups)))
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get("HOME") == remains.workspace and lives(found := find(process.pid)):
                yield found
