"""When each task started, noted by the tasks themselves; standard library only, the peers load it too.

Every worker process writes into its own memory-mapped file. A stamp is a store into shared memory: no system
call and no release of the GIL, so noting the time costs a fast contender no more than a slow one; and the
stamps can be read from outside at once, also after a kill -9.
"""

import itertools
import mmap
import os
import struct
import threading
import time
from pathlib import Path
from typing import NamedTuple

FOLDER_VARIABLE = "BENCH_STAMPS"
CAPACITY = 1 << 18
# Native alignment: each field is one 8-byte store, so a reader never sees half of a number.
_RECORD = struct.Struct("@qdd")


class Stamp(NamedTuple):
    task: int  # its index
    sent: float
    now: float


class _Sheet:
    """The file of this process."""

    def __init__(self, folder: Path) -> None:
        path = folder / f"{os.getpid()}.stamps"
        with path.open("w+b") as file:
            file.truncate(CAPACITY * _RECORD.size)  # sparse: only touched pages cost anything
            self.memory = mmap.mmap(file.fileno(), CAPACITY * _RECORD.size)
        self.slots = itertools.count()


_sheets: dict[int, _Sheet] = {}  # by process id: a fork starts a sheet of its own
_opening = threading.Lock()


def _open(pid: int) -> _Sheet:
    with _opening:
        if pid not in _sheets:
            _sheets[pid] = _Sheet(Path(os.environ[FOLDER_VARIABLE]))
        return _sheets[pid]


def record(index: int, sent: float = 0.0) -> None:
    """Called by a task as the first thing it does."""
    now = time.time()
    pid = os.getpid()
    sheet = _sheets.get(pid) or _open(pid)
    _RECORD.pack_into(sheet.memory, next(sheet.slots) * _RECORD.size, index, sent, now)


class Stamps:
    """The harness's view on the stamps of all worker processes; reads only what is new."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.by_process: dict[int, list[Stamp]] = {}

    def poll(self) -> int:
        """Read what came since the last call; the number of stamps so far."""
        for path in self._folder.glob("*.stamps"):
            seen = self.by_process.setdefault(int(path.stem), [])
            with path.open("rb") as file:
                file.seek(len(seen) * _RECORD.size)
                while chunk := file.read(4096 * _RECORD.size):
                    new = [Stamp(*fields) for fields in _RECORD.iter_unpack(chunk)]
                    filled = list(itertools.takewhile(lambda stamp: stamp.now, new))
                    seen.extend(filled)
                    if len(filled) < len(new):
                        break
        return sum(map(len, self.by_process.values()))

    def all(self) -> list[Stamp]:
        return list(itertools.chain.from_iterable(self.by_process.values()))

    def processes(self) -> list[int]:
        """The worker processes: those that ran a task."""
        return [pid for pid, stamps in self.by_process.items() if stamps]
