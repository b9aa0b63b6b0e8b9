"""Outlives the bench by a moment: cleans up after a bench that was killed and could not do it itself.

A process of its own, `python -m tests.bench.harness.guard FOLDER`. Its input is a pipe that only the bench holds: the
end of the input is the end of the bench, however it ended. Lines: `+ PID SIGNAL` for a process started,
`- PID` for one that is gone.
"""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

from tests.bench.harness.trees import stop_tree


class Guard:
    """The bench's end of the pipe."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.harness.guard", str(folder)],
            stdin=subprocess.PIPE,
            cwd=root,
            text=True,
            start_new_session=True,  # a Ctrl-C in the terminal is not meant for it
        )

    def started(self, pid: int, sig: signal.Signals) -> None:
        self._tell(f"+ {pid} {int(sig)}")

    def gone(self, pid: int) -> None:
        self._tell(f"- {pid}")

    def dismiss(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()

    def _tell(self, line: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()


def main() -> None:
    folder = Path(sys.argv[1])
    running: dict[int, signal.Signals] = {}
    for line in sys.stdin:
        match line.split():
            case ["+", pid, sig]:
                running[int(pid)] = signal.Signals(int(sig))
            case ["-", pid]:
                running.pop(int(pid), None)
    for pid, sig in reversed(running.items()):  # the server came first and goes last
        stop_tree(pid, sig, grace=2.0)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
