"""A new process in the place of this one, for code that no interrupt can stop. It keeps its pid, so Dramatiq's master,
which would end all its processes when one of them ends, does not even notice."""

import os
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

_pipes: dict[int, int] = {}


def remember_pipes() -> None:
    """The pipes that this process was born with: through them the master gets our logs, and knows that we live. To be
    called before anything else has opened one."""
    _pipes.clear()
    for entry in Path("/dev/fd").iterdir():
        with suppress(OSError):
            found = os.fstat(int(entry.name))
            if stat.S_ISFIFO(found.st_mode):
                _pipes[int(entry.name)] = found.st_ino


def replace_process() -> NoReturn:
    """Ends all that runs in here, at once. Whatever is to be written must have been written."""
    _kill_children()
    command = _command()
    if command is not None:
        for pipe, identity in _pipes.items():
            with suppress(OSError):
                if os.fstat(pipe).st_ino == identity:
                    os.set_inheritable(pipe, True)
        try_block_signals()  # until the new one is ready for them
        with suppress(OSError):
            os.execv(sys.executable, command)  # noqa: S606
    os._exit(_FAILED)


def _command() -> list[str] | None:
    """How Dramatiq's command line started us; None when it did not."""
    program = Path(sys.argv[0])
    if "dramatiq" not in (program.name, program.parent.name) or not hasattr(sys.stderr, "pipe"):
        return None
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return [sys.executable, *flags, "-m", "broker.reborn", str(sys.stderr.fileno()), *sys.argv[1:]]


def _kill_children() -> None:
    """What the code has started ends with it. A database that runs beside us is not meant."""
    killed = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if not child.name().startswith("postgres"):
                child.kill()
                killed.append(child)
                log.warning("killed with its process", pid=child.pid)
    psutil.wait_procs(killed, timeout=2)  # the new program would not know of them, and they would stay as zombies
