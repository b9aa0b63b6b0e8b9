"""`python -m providers.sandbox.supervisor <workspace>`: runs one command, and kills all its processes at its end. Not
to be started by hand, because it removes the workspace.

The first line of its input is the order. It answers with its identity, which the worker writes down, and starts the
command at the second line. When its input ends, the worker has died or wants the command to end, and the supervisor
kills it. The supervisor is no child of the worker: it must survive if the worker's children are killed, and a worker
that was replaced by exec would not wait for it."""

import errno
import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

from providers.sandbox import confinement
from providers.sandbox.cgroups import Group, remove_groups
from providers.sandbox.descendants import kill_descendants
from providers.sandbox.engines import find_exceeded, kill_container
from providers.sandbox.processes import find
from providers.sandbox.removal import remove_tree
from providers.sandbox.watching import Watch

KILL_SECONDS = 1.5  # until processes that cannot be killed are reported
_KILL_EVERY = 1.0  # seconds between two attempts to kill survivors
_SHORTAGE = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)

_INPUT, _REPORT = 0, 1


class Supervisor:
    def __init__(self, workspace: str, order: dict[str, Any]) -> None:
        self._workspace = workspace
        self._order = order
        self._limits: dict[str, Any] = order["limits"]
        self._container: dict[str, Any] | None = order.get("container")
        self._pid = 0
        self._exit_code: int | None = None
        self._killed = 0
        self._ended_at = 0.0
        self._ending = ""  # the reason why the supervisor ended the command
        own = order.get("own_processes", 0)
        # The engine has its own groups.
        self._group = Group(order["name"], self._limits["memory"], self._limits["processes"] + own, order["groups"])
        self._watch = Watch(
            workspace, self._limits, self._group, own_processes=own, container=self._container is not None
        )

    def run(self) -> None:
        try:
            adopts = confinement.adopt_orphans()
            self._handle_signals()
            _report({**find(os.getpid())._asdict(), "groups": self._group.paths})
            if sys.stdin.buffer.readline():  # else the worker has died, or does not want it any more
                self._run(adopts)
            else:
                _report({"refused": "it was not begun", "missing": False, "shortage": True})
        finally:
            remove_groups(self._group.paths)

    def _handle_signals(self) -> None:
        self._wakeup, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        # Handled, not ignored: the command would inherit that they are ignored.
        for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])

    def _run(self, adopts: bool) -> None:
        begun = time.monotonic()
        try:
            self._start()
        except (OSError, ValueError, subprocess.SubprocessError) as refused:
            reason = getattr(refused, "errno", None)
            _report({"refused": str(refused), "missing": reason == errno.ENOENT, "shortage": reason in _SHORTAGE})
            return
        self._wait(begun + self._limits["seconds"])
        exceeded = self._find_exceeded()
        self._killed = 0  # processes that others have killed before do not count
        if not adopts:
            with suppress(OSError):
                os.killpg(self._pid, signal.SIGKILL)
        survivors = self._kill()
        _report(
            {
                "exit_code": -signal.SIGKILL if self._exit_code is None else self._exit_code,
                "limit": exceeded,
                "killed": self._killed,
                "survivors": [find(pid) for pid in survivors],
                "seconds": round((self._ended_at or time.monotonic()) - begun, 3),
            }
        )
        while survivors:
            time.sleep(_KILL_EVERY)
            survivors = self._kill()

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
        how = self._order["confine"]
        if how == "none":
            return
        self._group.join()
        confinement.limit_resources(self._limits)
        confinement.keep_privileges_out()
        if how == "all":
            confinement.separate()
            confinement.drop_capabilities()

    def _wait(self, deadline: float) -> None:
        """Returns when the command has ended or must end."""
        while self._reap() and self._exit_code is None:
            now = time.monotonic()
            if now >= deadline:
                self._ending = "time"
                return
            if now >= self._watch.next_look:
                self._ending = self._watch.find_exceeded()
                if self._ending:
                    return
            pause = max(min(deadline, self._watch.next_look) - now, 0)
            ready, _, _ = select.select([_INPUT, self._wakeup], [], [], pause)
            if self._wakeup in ready:
                os.read(self._wakeup, 4096)
            if _INPUT in ready:
                self._ending = "requested"
                return

    def _find_exceeded(self) -> str:
        """Returns the limit that has ended the command, or "". The kernel may have enforced one meanwhile."""
        if self._ending:
            return "" if self._ending == "requested" else self._ending
        if self._container is None:
            return self._group.find_exceeded()
        return find_exceeded(self._container["engine"], self._container["name"], self._container["environment"])

    def _kill(self) -> list[int]:
        """Returns the pids of survivors."""
        if self._container is None:
            return kill_descendants(self._reap, KILL_SECONDS)
        left = kill_container(
            self._container["engine"], self._container["name"], KILL_SECONDS, self._container["environment"]
        )
        return left + kill_descendants(self._reap, KILL_SECONDS)

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


def main() -> None:
    confinement.hide_memory()
    workspace = sys.argv[1]
    order = sys.stdin.buffer.readline()
    if os.fork():
        os._exit(0)
    keep = False
    try:
        if order.endswith(b"\n"):  # else the worker died while it wrote the order
            given = json.loads(order)
            keep = given["keep"]
            Supervisor(workspace, given).run()
    finally:
        if not keep:
            remove_tree(workspace)


if __name__ == "__main__":
    main()
