"""Journals that tasks and faults write themselves: one line for each begin, end and call, as JSON, in one write
to a file that is only ever appended to. A judge reads it afterwards (judge.py).

A process that dies writes no end. So each one that runs tasks also keeps the time of its last sign of life in a small
file of its own. Both stop when the process is killed, stopped, or replaced by `exec` under the same pid.

Times are CLOCK_BOOTTIME: the same for all processes of the machine, never stepped, counting suspended time."""

import json
import mmap
import os
import secrets
import struct
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Entry = dict[str, Any]

VARIABLE = "CALLBOARD_PROVE_JOURNAL"  # says where, to the processes of `callboard prove`
BEAT = 0.02  # seconds between two signs of life
GAP = 0.5  # seconds without one, after which the process itself notes that it did not run


def now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Journal:
    """A file that many threads and processes append to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def write(self, what: str, *, at: float | None = None, **fields: Any) -> None:
        line = json.dumps({"what": what, "at": now() if at is None else at, **fields}) + "\n"
        os.write(self._file, line.encode())

    def close(self) -> None:
        os.close(self._file)


def read(path: Path) -> list[Entry]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def last_beats(path: Path) -> dict[str, float]:
    """The last sign of life of each process that has written to this journal. One that was killed before its first is
    left out: it has begun nothing."""
    beats = {file.name: file.read_bytes() for file in _beats_of(path).glob("*")}
    return {name: struct.unpack("d", beat)[0] for name, beat in beats.items() if beat}


def _beats_of(path: Path) -> Path:
    return path.with_name(path.name + ".beats")


class ProcessJournal:
    """A journal as one process writes it, with the process's signs of life."""

    def __init__(self, path: Path) -> None:
        self._journal = Journal(path)
        self.pid = os.getpid()
        self.name = f"{self.pid}.{secrets.token_hex(4)}"  # the pid alone is the same after an exec
        folder = _beats_of(path)
        folder.mkdir(exist_ok=True)
        beats = folder / self.name
        beats.write_bytes(struct.pack("d", now()))
        with beats.open("r+b") as file:
            self._beat = mmap.mmap(file.fileno(), 8)
        threading.Thread(target=self._live, name="journal", daemon=True).start()

    def write(self, what: str, *, at: float | None = None, **fields: Any) -> None:
        self._journal.write(what, at=at, process=self.name, pid=self.pid, **fields)

    def _live(self) -> None:
        last = now()
        while True:
            time.sleep(BEAT)
            current = now()
            if current - last > GAP:
                self.write("gap", since=last, until=current)
            self._beat[:8] = struct.pack("d", current)
            last = current


_of_this_process: dict[str, ProcessJournal] = {}
_opening = threading.Lock()


def process_journal(path: str) -> ProcessJournal:
    """Opened when a task first runs: never before a fork."""
    with _opening:
        known = _of_this_process.get(path)
        if known is None or known.pid != os.getpid():
            known = _of_this_process[path] = ProcessJournal(Path(path))
        return known


def saved_name(epoch: int, number: int) -> str:
    """The name under which an execution saves its n-th checkpoint."""
    return f"epoch {epoch} step {number}"


class Record:
    """One execution in the journal. Its end is written once, however it ends."""

    def __init__(self, path: str, task_id: str, epoch: int, gates: Iterable[str], target: str | None) -> None:
        self._journal = process_journal(path)
        self._key: dict[str, Any] = {"task": task_id, "epoch": epoch, "run": secrets.token_hex(6)}
        self._place: dict[str, Any] = {"gates": sorted(gates), "target": target}
        self._began = self._ended = False
        self._calls = 0

    def begin(self) -> None:
        self._journal.write("begin", **self._key, **self._place)
        self._began = True

    def end(self, how: str) -> None:
        if self._began and not self._ended:
            self._journal.write("end", how=how, **self._key)
            self._ended = True

    def call(self, name: str, number: int, at: float, result: str) -> None:
        """Records the outcome of a call of the context: "ok", or the error that refused it. `at`: when it was made."""
        self._journal.write("call", at=at, name=name, number=number, result=result, **self._key)


@contextmanager
def recording(record: Record) -> Iterator[Record]:
    """Around the code of an execution. An interrupt can strike between any two steps, also in a `finally`: the second
    one catches that."""
    how = "interrupted"
    try:
        try:
            record.begin()
            yield record
            how = "done"
        except BaseException as error:
            how = type(error).__name__
            raise
        finally:
            record.end(how)
    finally:
        record.end(how)
