"""Sandboxes of tests: what they run, and how their processes are found."""

import sys
from collections.abc import Callable
from pathlib import Path

import psutil

from providers.sandbox.sandbox import Result, Sandbox
from tests.support.eventually import eventually

Start = Callable[..., Sandbox]
Run = Callable[..., Result]

# Each writes its pid and waits: in the group, and as a grandchild that has left group, session and parent.
ESCAPES = """
import os, time
def told(name):
    with open(os.environ["HOME"] + "/" + name, "w") as out:
        out.write(str(os.getpid()))
    os.rename(os.environ["HOME"] + "/" + name, os.environ["HOME"] + "/" + name + ".pid")
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    told("far")
    time.sleep(300)
if os.fork() == 0:
    told("near")
    time.sleep(300)
told("first")
time.sleep(300)
"""
# A new process every moment; the one before is gone.
HOPS = """
import os, time
if os.fork():
    time.sleep(300)
open(os.environ["HOME"] + "/hops.pid", "w").close()
while True:
    if os.fork():
        os._exit(0)
    os.setsid()
"""


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def find_processes(workspace: str) -> list[int]:
    """Returns the processes of a sandbox, its supervisor included."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("HOME") == workspace and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def written(sandbox: Sandbox, *names: str) -> list[int]:
    files = [Path(sandbox.workspace, f"{name}.pid") for name in names]
    eventually(lambda: all(file.exists() for file in files), what="the processes are there")
    return [int(file.read_text() or 0) for file in files]


def gone(sandbox: Sandbox) -> None:
    eventually(lambda: not find_processes(sandbox.workspace), timeout=5, what="no process is left")
    eventually(lambda: not Path(sandbox.workspace).exists(), timeout=5, what="the workspace is removed")
