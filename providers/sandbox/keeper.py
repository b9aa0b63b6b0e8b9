"""`python -m providers.sandbox.keeper <workspace>`: starts one command, and sees to it that nothing is left of it. Not
to be started by hand: it removes the workspace in the end.

The first line of its input is the order; when its input ends, the command must end, whatever has become of the worker
at the other end. It makes itself nobody's child: what kills a worker's children must not kill it before its work is
done, and a worker that was replaced would not bury it."""

import errno
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

from providers.sandbox.family import adopt_orphans, descendants, kill_descendants, renounce_privileges

PATIENCE = 1.5  # seconds until those who cannot be killed are reported
_LOOK = 0.25  # seconds between two looks at the number of processes
_AGAIN = 1.0  # seconds between two rounds against those who cannot be killed
_SHORTAGE = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)

_INPUT, _REPORT = 0, 1


class Keeper:
    def __init__(self, workspace: str, order: dict[str, Any]) -> None:
        self._workspace = workspace
        self._order = order
        self._limits: dict[str, Any] = order["limits"]
        self._pid = 0
        self._exit_code: int | None = None
        self._killed = 0
        self._ended_at = 0.0
        self._ending = ""  # why we end it, when it does not end by itself

    def run(self) -> None:
        adopts = adopt_orphans()
        self._bell, bell = os.pipe()
        os.set_blocking(bell, False)
        signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
        # Handled, not ignored: what is ignored here would be ignored by the command as well.
        for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        begun = time.monotonic()
        try:
            self._start()
        except (OSError, ValueError, subprocess.SubprocessError) as refused:
            reason = getattr(refused, "errno", None)
            _report({"refused": str(refused), "missing": reason == errno.ENOENT, "shortage": reason in _SHORTAGE})
            return
        self._watch(begun + self._limits["seconds"])
        self._killed = 0  # what others have killed before does not count
        if not adopts:
            with suppress(OSError):
                os.killpg(self._pid, signal.SIGKILL)
        survivors = kill_descendants(self._reap, PATIENCE)
        _report(
            {
                "exit_code": -signal.SIGKILL if self._exit_code is None else self._exit_code,
                "ending": self._ending,
                "killed": self._killed,
                "survivors": survivors,
                "seconds": round((self._ended_at or time.monotonic()) - begun, 3),
            }
        )
        while survivors:
            time.sleep(_AGAIN)
            survivors = kill_descendants(self._reap, PATIENCE)

    def _start(self) -> None:
        output: int = self._order["output"]
        command = subprocess.Popen(
            self._order["command"],
            cwd=self._workspace,
            env=self._order["environment"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=self._confine,  # noqa: PLW1509  (there is one thread)
        )
        os.close(output)
        self._pid = command.pid
        command.returncode = 0  # we bury it ourselves

    def _confine(self) -> None:
        renounce_privileges()
        for kind, limit in (
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_AS, self._limits["memory"]),
            (resource.RLIMIT_FSIZE, self._limits["file_size"]),
            (resource.RLIMIT_NOFILE, self._limits["open_files"]),
        ):
            hard = resource.getrlimit(kind)[1]
            most = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.setrlimit(kind, (most, most))

    def _watch(self, deadline: float) -> None:
        """Until the command has ended, or must. Its processes are counted, as RLIMIT_NPROC counts all of the user's."""
        next_look = 0.0
        while self._reap() and self._exit_code is None:
            now = time.monotonic()
            if now >= deadline:
                self._ending = "timeout"
                return
            if now >= next_look:
                next_look = now + _LOOK
                if len(descendants()) > self._limits["processes"]:
                    self._ending = "processes"
                    return
            ready, _, _ = select.select([_INPUT, self._bell], [], [], max(min(deadline, next_look) - now, 0))
            if self._bell in ready:
                os.read(self._bell, 4096)
            if _INPUT in ready:
                self._ending = "told"
                return

    def _reap(self) -> bool:
        """Buries the dead. False: we have no children left."""
        with suppress(ChildProcessError):
            while (dead := os.waitpid(-1, os.WNOHANG))[0]:
                exit_code = os.waitstatus_to_exitcode(dead[1])
                self._killed += exit_code == -signal.SIGKILL
                if dead[0] == self._pid:
                    self._exit_code = exit_code
                    self._ended_at = time.monotonic()
            return True
        return False


def _report(news: dict[str, Any]) -> None:
    with suppress(BrokenPipeError):  # nobody is left to hear it
        os.write(_REPORT, json.dumps(news).encode() + b"\n")


def _remove(workspace: str) -> None:
    for folder, names, _ in os.walk(workspace):
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118
            if not os.path.islink(path):  # noqa: PTH114
                with suppress(OSError):
                    os.chmod(path, 0o700)  # noqa: PTH101  (some programs protect their folders)
    shutil.rmtree(workspace, ignore_errors=True)


def main() -> None:
    workspace = sys.argv[1]
    order = sys.stdin.buffer.readline()
    if os.fork():
        os._exit(0)
    try:
        if order.endswith(b"\n"):  # else the worker died over it
            Keeper(workspace, json.loads(order)).run()
    finally:
        _remove(workspace)


if __name__ == "__main__":
    main()
