"""Keeps workers, HTTP and the embedded Postgres running, until it is told to stop."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from types import FrameType

import psutil

from deploy.cli.embedded import EmbeddedServer
from deploy.cli.exits import COMMAND_FAILED, Failure
from deploy.cli.logtail import LogTail
from deploy.cli.service import Service

Say = Callable[[str, str, str], None]
"""who, how bad, what"""

_TICK = 0.2
_START_DEADLINE = 60.0
_START_DEATHS = 3
_BEYOND_GRACE = 10.0  # seconds: interrupted code ends, results are written, connections are closed


class Supervisor:
    def __init__(self, services: Sequence[Service], postgres: EmbeddedServer | None, grace: float, say: Say) -> None:
        self._services = services
        self._postgres = postgres
        self._grace = grace
        self._say = say
        self._tails = {service.name: LogTail(service.log) for service in services}
        self._signals = 0

    def catch_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup
                signal.signal(number, self._caught)

    def _caught(self, _number: int, _frame: FrameType | None) -> None:
        self._signals += 1

    @property
    def told_to_stop(self) -> bool:
        return self._signals > 0

    def start(self, ready: Callable[[], bool]) -> None:
        """Returns when all is ready, or when it is told to stop; raises Failure when it cannot be."""
        for service in self._services:
            service.start()
        deadline = time.monotonic() + _START_DEADLINE
        while not self.told_to_stop and not ready():
            self._tend()
            for service in self._services:
                if service.early_deaths >= _START_DEATHS:
                    raise Failure(COMMAND_FAILED, f"{service.name} cannot start: see {service.log}")
            if time.monotonic() > deadline:
                logs = " and ".join(str(service.log) for service in self._services)
                raise Failure(COMMAND_FAILED, f"Not ready after {_START_DEADLINE:.0f} s: see {logs}")
            time.sleep(_TICK)

    def keep_running(self) -> None:
        while not self.told_to_stop:
            self._tend()
            time.sleep(_TICK)

    def _tend(self) -> None:
        if self._postgres is not None and (news := self._postgres.tend()):
            self._say("postgres", "warning", news)
        for service in self._services:
            if news := service.tend():
                self._say(service.name, "warning", news)
            for level, text in self._tails[service.name].news():
                self._say(service.name, level, text)
        self._reap_orphans()

    def _reap_orphans(self) -> None:
        """As the first process of a container we inherit who lost its parent, such as a Postgres that was killed."""
        if os.getpid() != 1:
            return
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is not None and ended.si_pid not in {service.pid for service in self._services}:
            os.waitpid(ended.si_pid, os.WNOHANG)

    def stop(self) -> None:
        """Everybody is asked to end, then made to. A second signal shortens the grace."""
        before = self._signals
        for service in self._services:
            service.terminate()
        deadline = time.monotonic() + self._grace + _BEYOND_GRACE
        while not all(service.over for service in self._services):
            if self._signals > max(before, 1) or time.monotonic() > deadline:
                self._say("up", "warning", "killing what has not ended")
                for service in self._services:
                    service.kill()
                deadline = float("inf")
                before = self._signals
            self._reap_orphans()
            time.sleep(_TICK / 4)


def descendants(pid: int) -> set[int]:
    try:
        return {process.pid for process in psutil.Process(pid).children(recursive=True)}
    except psutil.NoSuchProcess:
        return set()
