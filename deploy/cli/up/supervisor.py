"""Keeps workers, HTTP server and embedded Postgres running until a signal arrives."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from types import FrameType

from deploy.cli.exits import COMMAND_FAILED, Failure
from deploy.cli.up.embedded import EmbeddedPostgres
from deploy.cli.up.logtail import LogTail
from deploy.cli.up.service import Service

PrintProblem = Callable[[str, str, str], None]
"""service, level, text"""

_TICK = 0.2
_START_TIMEOUT = 60.0
_MAX_START_DEATHS = 3
_STOP_MARGIN = 10.0  # seconds beyond the grace period: code is interrupted, results are written, connections closed


class Supervisor:
    def __init__(
        self,
        services: Sequence[Service],
        postgres: EmbeddedPostgres | None,
        grace: float,
        print_problem: PrintProblem,
    ) -> None:
        self._services = services
        self._postgres = postgres
        self._grace = grace
        self._print_problem = print_problem
        self._tails = {service.name: LogTail(service.log) for service in services}
        self._signals = 0

    def catch_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup ignores SIGHUP
                signal.signal(number, self._count_signal)

    def _count_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._signals += 1

    @property
    def stop_requested(self) -> bool:
        return self._signals > 0

    def start(self, is_ready: Callable[[], bool]) -> None:
        """Returns when everything is ready or a stop is requested. Raises Failure if a service cannot start."""
        for service in self._services:
            service.start()
        deadline = time.monotonic() + _START_TIMEOUT
        while not self.stop_requested and not is_ready():
            self._check_all()
            for service in self._services:
                if service.early_deaths >= _MAX_START_DEATHS:
                    raise Failure(COMMAND_FAILED, f"{service.name} cannot start: see {service.log}")
            if time.monotonic() > deadline:
                logs = " and ".join(str(service.log) for service in self._services)
                raise Failure(COMMAND_FAILED, f"Not ready after {_START_TIMEOUT:.0f} s: see {logs}")
            time.sleep(_TICK)

    def keep_running(self) -> None:
        """Returns when a stop is requested."""
        while not self.stop_requested:
            self._check_all()
            time.sleep(_TICK)

    def _check_all(self) -> None:
        """Restarts what has ended, and prints what its logs say."""
        if self._postgres is not None and (message := self._postgres.restart_if_ended()):
            self._print_problem("postgres", "warning", message)
        for service in self._services:
            if message := service.restart_if_ended():
                self._print_problem(service.name, "warning", message)
            for level, text in self._tails[service.name].read_new():
                self._print_problem(service.name, level, text)
        self._reap_orphans()

    def _reap_orphans(self) -> None:
        """As the first process of a container, this process inherits orphans, such as those of a killed Postgres."""
        if os.getpid() != 1:
            return
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is not None and ended.si_pid not in {service.pid for service in self._services}:
            os.waitpid(ended.si_pid, os.WNOHANG)

    def stop(self) -> None:
        """Asks all services to end, and kills them after the grace period or at a second signal."""
        before = self._signals
        for service in self._services:
            service.terminate()
        deadline = time.monotonic() + self._grace + _STOP_MARGIN
        while not all(service.ended for service in self._services):
            if self._signals > max(before, 1) or time.monotonic() > deadline:
                self._print_problem("up", "warning", "killing the processes that have not ended")
                for service in self._services:
                    service.kill()
                deadline = float("inf")
                before = self._signals
            self._reap_orphans()
            time.sleep(_TICK / 4)
