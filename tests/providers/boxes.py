"""The kinds of sandboxes that this machine can run, and the processes in them."""

import os
import sys

import psutil
import pytest

from providers.sandbox import bubblewrap
from providers.sandbox.kinds import Box

INTERPRETER = os.path.realpath(sys.executable)  # the environment's own one is a link, into a folder that no box has
BUBBLEWRAP = Box("bubblewrap", folders=(sys.base_prefix,))

needs_bubblewrap = pytest.mark.skipif(bubblewrap.find_problem() is not None, reason=str(bubblewrap.find_problem()))
every_box = pytest.mark.parametrize(
    "box", [pytest.param(Box(), id="process"), pytest.param(BUBBLEWRAP, id="bubblewrap", marks=needs_bubblewrap)]
)

# Ignores SIGTERM, leaves a grandchild that has its own session and no parent, and holds stdout in both.
STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    open("far", "w").close()
    while True:
        time.sleep(1)
os.wait()
open("first", "w").close()
print("ready", flush=True)
while True:
    time.sleep(1)
"""


def python(code: str) -> tuple[str, ...]:
    return (INTERPRETER, "-I", "-c", code)


def find_descendants(pid: int) -> list[psutil.Process]:
    """The processes of a sandbox, seen from outside: in it they have other pids."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def all_gone(processes: list[psutil.Process]) -> bool:
    """A psutil.Process knows its start time: another process with the same pid does not count."""
    return not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in processes)
