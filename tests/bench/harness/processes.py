"""Child processes that cannot outlive the bench."""

import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.bench.harness.errors import BenchError
from tests.bench.harness.guard import Guard
from tests.bench.harness.trees import kill_session, stop_tree
from tests.bench.harness.venvs import ROOT

GRACE = 5.0


def tail(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else ""


class Children:
    """Every process the bench starts, except the guard.

    Each leads its own session: a Ctrl-C in the terminal reaches only the bench, which ends them in order.
    """

    def __init__(self, folder: Path) -> None:
        self._live: dict[int, tuple[subprocess.Popen[str], signal.Signals]] = {}
        self._guard = Guard(folder, ROOT)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # An impatient second Ctrl-C must not leave a server behind.
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(sig, signal.SIG_IGN)
        for child, _ in reversed(list(self._live.values())):
            self.stop(child)
        self._guard.dismiss()

    def start(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        stop_with: signal.Signals = signal.SIGTERM,
        user: str | None = None,
        pipe: bool = False,
    ) -> subprocess.Popen[str]:
        with log.open("a") as output:
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if pipe else output,
                stderr=output,
                env=env,
                cwd=log.parent,
                user=user,
                start_new_session=True,
                text=True,
            )
        self._live[child.pid] = child, stop_with
        self._guard.started(child.pid, stop_with)
        return child

    def run(self, argv: Sequence[str], *, log: Path, env: Mapping[str, str] | None = None, timeout: float) -> str:
        """Run to the end; its output."""
        child = self.start(argv, log=log, env=env, pipe=True)
        try:
            output, _ = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired as error:
            raise BenchError(f"{' '.join(argv)} took over {timeout:.0f} s\n{tail(log)}") from error
        finally:
            self.stop(child)
        if child.returncode:
            raise BenchError(f"{' '.join(argv)} ended with {child.returncode}\n{tail(log)}")
        return output

    def stop(self, child: subprocess.Popen[str]) -> None:
        _, sig = self._live.get(child.pid, (child, signal.SIGTERM))
        if child.poll() is None:
            stop_tree(child.pid, sig, GRACE)
        elif child.stdout is None:
            kill_session(child.pid)  # a master that died has left its workers
        child.wait()
        if child.stdout:
            child.stdout.close()
        if self._live.pop(child.pid, None):
            self._guard.gone(child.pid)
