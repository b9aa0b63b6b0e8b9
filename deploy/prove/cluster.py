"""The programs of a proof: trees of worker processes, and HTTP servers."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from deploy.cli.up.address import find_free_port, responds_ok
from deploy.prove.journal import Journal
from deploy.prove.program import Program
from deploy.prove.waiting import wait_until

HOST = "127.0.0.1"
_START_SECONDS = 180.0
GRACE = 1.0  # seconds that running tasks get when their tree is deployed anew


@dataclass(frozen=True, slots=True)
class Tree:
    """What a tree of workers is to be."""

    processes: int = 1
    threads: int = 4
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """`environment` is that of all programs; each tree and each server may add to it."""

    environment: Mapping[str, str]
    trees: Sequence[Tree]
    servers: Sequence[Mapping[str, str]]


class Cluster:
    def __init__(self, plan: Plan, folder: Path, faults: Journal) -> None:
        self.trees: list[Program] = []
        self.servers: list[Program] = []
        self.ports: list[int] = []
        self._stopping = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise, name="supervisor", daemon=True)
        try:
            for number, tree in enumerate(plan.trees):
                arguments = ["-m", "dramatiq", "actors", "-p", str(tree.processes), "-t", str(tree.threads)]
                environment = {**os.environ, **plan.environment, **tree.environment}
                ready = partial(_have_started, tree.processes)
                self.trees.append(Program(f"workers-{number}", arguments, environment, folder, faults, ready))
            for number, more in enumerate(plan.servers):
                port = find_free_port(HOST, 0)
                environment = {**os.environ, **plan.environment, **more, "CALLBOARD_PORT": str(port)}
                self.ports.append(port)
                self.servers.append(
                    Program(f"server-{number}", _serve(port), environment, folder, faults, partial(_responds, port))
                )
            for program in self.programs:
                wait_until(partial(getattr, program, "ready"), _START_SECONDS, f"{program.name} is ready")
        except BaseException:
            self.close()
            raise
        self._supervisor.start()

    @property
    def programs(self) -> list[Program]:
        return [*self.trees, *self.servers]

    def _supervise(self) -> None:
        while not self._stopping.wait(0.3):
            for program in self.programs:
                if program.lock.acquire(blocking=False):
                    try:
                        with suppress(subprocess.TimeoutExpired):
                            program.renew_if_ended()
                    finally:
                        program.lock.release()

    def find_tree(self, pid: int) -> Program | None:
        return next((tree for tree in self.trees if pid in tree.worker_pids()), None)

    def go_on(self) -> None:
        for program in self.programs:
            program.signal(signal.SIGCONT)

    def close(self) -> None:
        self._stopping.set()
        if self._supervisor.is_alive():
            self._supervisor.join(60)
        self.go_on()
        for program in self.programs:
            program.terminate()
        deadline = time.monotonic() + 5
        for program in self.programs:
            program.wait_ended(max(deadline - time.monotonic(), 0))
            program.kill()


def _serve(port: int) -> list[str]:
    """As `callboard up` starts one server process."""
    return ["-m", "uvicorn", "--app-dir", "http", "--factory", "taskapi:create_app", "--host", HOST,
            "--port", str(port), "--timeout-graceful-shutdown", "1", "--no-proxy-headers", "--no-server-header",
            "--http", "taskapi.guard.connections:Connection"]  # fmt: skip


def _have_started(processes: int, log: str) -> bool:
    return log.count('"worker ready"') >= processes


def _responds(port: int, _log: str) -> bool:
    return responds_ok(HOST, port, "/livez")
