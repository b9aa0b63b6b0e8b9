"""Runs a Python command that ends when its parent does. On Linux the kernel sees to it, however the parent dies.

Started as a script, before anything else is imported: `python tether.py PARENT_PID ARGUMENTS…`. A `preexec_fn` would
do the same, but must not be used in a process that has threads.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, arguments = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        # It outlives the exec. SIGTERM, so that the command can end its own children.
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # died before we asked
            sys.exit(1)
    os.execv(sys.executable, [sys.executable, *arguments])  # noqa: S606  (this very interpreter)


if __name__ == "__main__":
    main()
