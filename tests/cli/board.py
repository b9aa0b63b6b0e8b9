"""A running `callboard up`, seen from outside."""

import http.client
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import psutil

from tests.cli.command import CALLBOARD, answer, environment
from tests.support.embedded import remove_socket_folder
from tests.support.eventually import eventually


class Board:
    """All that a fresh machine has: a data directory, and any free port."""

    def __init__(self, folder: Path, **settings: object) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.data_dir = folder / "data"
        self.environment: dict[str, Any] = {
            "CALLBOARD_DATABASE_URL": None,
            "CALLBOARD_DATA_DIR": self.data_dir,
            "CALLBOARD_PORT": 0,
            "CALLBOARD_GRACE_SECONDS": 1,
            "CALLBOARD_THREADS": 4,
            **settings,
        }
        self._out, self._err = folder / "out", folder / "err"
        with self._out.open("w") as out, self._err.open("w") as err:
            self.process = subprocess.Popen(
                [CALLBOARD, "up", "--json"],
                stdout=out,
                stderr=err,
                env=environment(**self.environment),
                process_group=0,
            )

    def ready(self) -> "Board":
        def announced() -> bool:
            assert self.process.poll() is None, self.problems
            return self._out.read_text().endswith("\n")

        eventually(announced, 90, what=f"ready, see {self._err}")
        return self

    @property
    def announcement(self) -> dict[str, Any]:
        return json.loads(self._out.read_text())

    @property
    def problems(self) -> str:
        return self._err.read_text()

    def answer(self, *arguments: str) -> Any:
        return answer(*arguments, **self.environment)

    def is_ready(self) -> bool:
        host, port = self.announcement["url"].removeprefix("http://").split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def child(self, module: str) -> psutil.Process:
        """What `up` has started with `python -m module`."""
        for process in psutil.Process(self.process.pid).children():
            if module in process.cmdline():
                return process
        raise AssertionError(f"{module} does not run")

    def workers(self) -> set[int]:
        """Worker processes below Dramatiq's master that have said that they are ready."""
        log = (self.data_dir / "logs" / "workers.log").read_text()
        said = [json.loads(line) for line in log.splitlines() if '"worker ready"' in line]
        return {
            int(line["worker"].split(":")[1]) for line in said if psutil.pid_exists(int(line["worker"].split(":")[1]))
        }

    def postmaster(self) -> int | None:
        try:
            lines = (self.data_dir / "postgres" / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:  # a new Postgres takes the old one's file away, at any moment
            return None
        return int(lines[0]) if lines else None  # while Postgres starts, the file is there before its contents

    def processes(self) -> list[psutil.Process]:
        """Everything that has our data directory in its environment or on its command line, dead parents or not."""
        found = []
        for process in psutil.process_iter():
            try:
                ours = process.environ().get("CALLBOARD_DATA_DIR") == str(self.data_dir)
                if ours or str(self.data_dir / "postgres") in process.cmdline():
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def interrupt(self, number: int = signal.SIGINT) -> None:
        """As a terminal does it: to the whole group in the foreground."""
        os.killpg(self.process.pid, number)

    def lose_power(self) -> None:
        """Everything is killed, and nothing sees the others die."""
        killed = self.processes()
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in killed:
                process.send_signal(number)
        self.process.wait(10)
        eventually(lambda: not self.processes(), what="all are gone")

    def destroy(self) -> None:
        """Whatever the test has left."""
        for process in self.processes():
            process.kill()
        self.process.wait(10)
        remove_socket_folder(self.data_dir)
