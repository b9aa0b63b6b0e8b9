"""`python -m providers.sandbox.supervisor <workspace>`: runs one command, and kills all its processes at its end. Not
to be started by hand, because it removes the workspace.

The first line of its input is the order. When its input ends, the worker has died or wants the command to end, and the
supervisor kills it. The supervisor is no child of the worker: it must survive if the worker's children are killed, and
a worker that was replaced by exec would not wait for it."""

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

from providers.sandbox.descendants import adopt_orphans, drop_privileges, kill_descendants, list_descendants

KILL_SECONDS = 1.5  # until processes that cannot be killed are reported
_COUNT_EVERY = 0.25  # seconds between two counts of the processes
_KILL_EVERY = 1.0  # seconds between two attempts to kill survivors
_SHORTAGE = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)

_INPUT, _REPORT = 0, 1


class Supervisor:
    def __init__(self, workspace: str, order: dict[str, Any]) -> None:
        self._workspace = workspace
        self._order = order
        self._limits: dict[str, Any] = order["limits"]
        self._pid = 0
        self._exit_code: int | None = None
        self._killed = 0
        self._ended_at = 0.0
        self._ending = ""  # the reason why the supervisor ended the command

    def run(self) -> None:
        adopts = adopt_orphans()
        self._wakeup, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        # Handled, not ignored: the command would inherit that they are ignored.
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
        self._killed = 0  # processes that others have killed before do not count
        if not adopts:
            with suppress(OSError):
                os.killpg(self._pid, signal.SIGKILL)
        survivors = kill_descendants(self._reap, KILL_SECONDS)
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
            time.sleep(_KILL_EVERY)
            survivors = kill_descendants(self._reap, KILL_SECONDS)

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
        command.returncode = 0  # `_reap` collects it, not Popen

    def _confine(self) -> None:
        drop_privileges()
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
        """Returns when the command has ended or must end. Its processes are counted here, because RLIMIT_NPROC counts
        all processes of the user."""
        next_count = 0.0
        while self._reap() and self._exit_code is None:
            now = time.monotonic()
            if now >= deadline:
                self._ending = "timeout"
                return
            if now >= next_count:
                next_count = now + _COUNT_EVERY
                if len(list_descendants()) > self._limits["processes"]:
                    self._ending = "processes"
                    return
            ready, _, _ = select.select([_INPUT, self._wakeup], [], [], max(min(deadline, next_count) - now, 0))
            if self._wakeup in ready:
                os.read(self._wakeup, 4096)
            if _INPUT in ready:
                self._ending = "requested"
                return

    def _reap(self) -> bool:
        """Collects ended children. Returns False if there are no children left."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                exit_code = os.waitstatus_to_exitcode(ended[1])
                self._killed += exit_code == -signal.SIGKILL
                if ended[0] == self._pid:
                    self._exit_code = exit_code
                    self._ended_at = time.monotonic()
            return True
        return False


def _report(result: dict[str, Any]) -> None:
    with suppress(BrokenPipeError):  # the worker has ended
        os.write(_REPORT, json.dumps(result).encode() + b"\n")


def _remove_workspace(workspace: str) -> None:
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
        if order.endswith(b"\n"):  # else the worker died while it wrote the order
            Supervisor(workspace, json.loads(order)).run()
    finally:
        _remove_workspace(workspace)


if __name__ == "__main__":
    main()
