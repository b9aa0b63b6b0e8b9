"""A new process in the place of this one, for code that no interrupt can stop. It keeps its pid, so Dramatiq's master,
which would end all its processes when one of them ends, does not even notice."""

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

_FAILED = 75  # "try again": whoever started us starts us again

_ENDING = (signal.SIGTERM, signal.SIGHUP)

_pipes: dict[int, int] = {}
_signals: list[int] = []  # where their numbers arrive, before any handler knows


def prepare_replacement() -> None:
    """At birth, before anything else has opened a pipe."""
    _remember_pipes()
    reading, writing = os.pipe()
    for end in (reading, writing):
        os.set_blocking(end, False)
    with suppress(ValueError):  # not the main thread, so not Dramatiq's command line
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    _signals[:] = [reading]


def _remember_pipes() -> None:
    """The pipes that this process was born with: through them the master gets our logs, and knows that we live."""
    _pipes.clear()
    for entry in Path("/dev/fd").iterdir():
        with suppress(OSError):
            found = os.fstat(int(entry.name))
            if stat.S_ISFIFO(found.st_mode):
                _pipes[int(entry.name)] = found.st_ino


def end_process(worker: str) -> NoReturn:
    """Ends all that runs in here, at once. What is left of this process recovers the tasks that the worker held: it is
    the proof that their code is gone."""
    _kill_children()
    with suppress(OSError):
        os.execv(sys.executable, [sys.executable, *_flags(), "-m", "broker.worker.recovery", worker])  # noqa: S606
    os._exit(_FAILED)


def replace_process() -> NoReturn:
    """Ends all that runs in here, at once. The new program recovers the tasks of its predecessor."""
    _kill_children()
    command = _command()
    if command is not None:
        for pipe, identity in _pipes.items():
            with suppress(OSError):
                if os.fstat(pipe).st_ino == identity:
                    os.set_inheritable(pipe, True)
        _heed_signals()
        try_block_signals()  # until the new one is ready for them
        with suppress(OSError):
            os.execv(sys.executable, command)  # noqa: S606
    os._exit(_FAILED)


def _heed_signals() -> None:
    """Who was told to end must not be born again: what the old program has heard, the new one does not know."""
    libc = ctypes.CDLL(None)
    for number in _ENDING:
        libc.signal(number, 0)  # from here on it ends us at once; Python's own way is for the main thread only
    heard = b""
    with suppress(BlockingIOError):
        heard = os.read(_signals[0], 4096)
    if any(number in _ENDING for number in heard):
        os._exit(0)


def _command() -> list[str] | None:
    """How Dramatiq's command line started us; None when it did not."""
    program = Path(sys.argv[0])
    if "dramatiq" not in (program.name, program.parent.name) or not hasattr(sys.stderr, "pipe"):
        return None
    return [sys.executable, *_flags(), "-m", "broker.worker.restart", str(sys.stderr.fileno()), *sys.argv[1:]]


def _flags() -> list[str]:
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return flags


def _kill_children() -> None:
    """What the code has started ends with it. A database that runs beside us is not meant."""
    killed = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if not child.name().startswith("postgres"):
                child.kill()
                killed.append(child)
                log.warning("killed with its process", pid=child.pid)
    psutil.wait_procs(killed, timeout=0.5)  # the new program would not know of them, and they would stay as zombies
