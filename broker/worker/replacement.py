"""Replaces this process by a new program, for code that no interrupt can stop. The pid stays the same, so Dramatiq's
master, which ends all its processes when one of them ends, does not notice."""

import ctypes
import os
import signal
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import psutil
from dramatiq.cli import try_block_signals

from state.logs import log
from state.workers.processes import list_descendants

FAILED = 75  # EX_TEMPFAIL: the supervisor starts the workers again

_ENDING = (signal.SIGTERM, signal.SIGHUP)

_pipes: dict[int, int] = {}
_signals: list[int] = []  # the pipe into which the interpreter writes the numbers of signals, before it calls handlers


def prepare_replacement() -> None:
    """Called when the process starts, before anything else has opened a pipe."""
    _remember_pipes()
    reading, writing = os.pipe()
    for end in (reading, writing):
        os.set_blocking(end, False)
    with suppress(ValueError):  # not the main thread, so not started by Dramatiq's command line
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    _signals[:] = [reading]


def _remember_pipes() -> None:
    """Notes the pipes to Dramatiq's master: it reads the logs from them, and notices when the process ends."""
    _pipes.clear()
    for entry in Path("/dev/fd").iterdir():
        with suppress(OSError):
            found = os.fstat(int(entry.name))
            if stat.S_ISFIFO(found.st_mode):
                _pipes[int(entry.name)] = found.st_ino


def end_process(worker: str) -> NoReturn:
    """Ends everything that runs in this process at once. The program that takes its place recovers the worker's tasks:
    their code is certainly gone by then."""
    _kill_children()
    with suppress(OSError):
        os.execv(sys.executable, [sys.executable, *_flags(), "-m", "broker.worker.recovery", worker])  # noqa: S606
    os._exit(FAILED)


def replace_process() -> NoReturn:
    """Ends everything that runs in this process at once. The new program recovers the tasks of the old one."""
    _kill_children()
    command = _command()
    if command is not None:
        for pipe, identity in _pipes.items():
            with suppress(OSError):
                if os.fstat(pipe).st_ino == identity:
                    os.set_inheritable(pipe, True)
        _exit_if_signaled()
        try_block_signals()  # until the new program can handle them
        with suppress(OSError):
            os.execv(sys.executable, command)  # noqa: S606
    os._exit(FAILED)


def _exit_if_signaled() -> None:
    """Exits if a signal to end has arrived: the new program would not know of it."""
    libc = ctypes.CDLL(None)
    for number in _ENDING:
        libc.signal(number, 0)  # it ends the process at once; Python's signal.signal works in the main thread only
    received = b""
    with suppress(BlockingIOError):
        received = os.read(_signals[0], 4096)
    if any(number in _ENDING for number in received):
        os._exit(0)


def _command() -> list[str] | None:
    """Returns the command of the new program; None if Dramatiq's command line has not started this process."""
    program = Path(sys.argv[0])
    if "dramatiq" not in (program.name, program.parent.name) or not hasattr(sys.stderr, "pipe"):
        return None
    return [sys.executable, *_flags(), "-m", "broker.worker.restart", str(sys.stderr.fileno()), *sys.argv[1:]]


def _flags() -> list[str]:
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return flags


def _kill_children() -> None:
    """Kills the processes that the code has started, and no embedded database."""
    killed = []
    for pid in list_descendants(os.getpid()):
        with suppress(psutil.Error):
            child = psutil.Process(pid)
            if not child.name().startswith("postgres"):
                child.kill()
                killed.append(child)
                log.warning("killed a child process", pid=child.pid)
    psutil.wait_procs(killed, timeout=0.5)  # the new program does not know of them; they would stay as zombies
