"""Runs a Python command that ends when its parent process ends. On Linux the kernel does this, however the parent dies.

Started as a script, before anything else is imported: `python die_with_parent.py PARENT_PID ARGUMENTS…`. A `preexec_fn`
would do the same, but is not safe in a process that has threads.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1


def build_command(arguments: Sequence[str]) -> list[str]:
    """Returns the command that runs `python ARGUMENTS…` as a child that dies with this process.

    Start it from the main thread: for the kernel, the end of the thread that started it is the end of the parent.
    """
    return [sys.executable, "-S", __file__, str(os.getpid()), *arguments]


def main() -> None:
    parent, arguments = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        # The setting survives exec. SIGTERM lets the command end its own children.
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # the parent died before prctl
            sys.exit(1)
    os.execv(sys.executable, [sys.executable, *arguments])  # noqa: S606  (the interpreter that runs this script)


if __name__ == "__main__":
    main()
