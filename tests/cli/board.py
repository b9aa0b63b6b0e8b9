"""A running `callboard up`, observed from outside."""

import http.client
import json
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from tests.cli.command import CALLBOARD, answer, environment
from tests.support.embedded import remove_socket_folder
from tests.support.eventually import eventually


class Board:
    """Starts `callboard up` with an empty data directory on any free port."""

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
        announced: dict[str, Any] = json.loads(self._out.read_text())
        return announced

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
        """Returns the service that `up` has started with `python -m module`."""
        for process in psutil.Process(self.process.pid).children():
            if module in process.cmdline():
                return process
        raise AssertionError(f"{module} does not run")

    def workers(self) -> set[int]:
        """Returns the pids of the live worker processes that have logged that they are ready."""
        log = (self.data_dir / "logs" / "workers.log").read_text()
        ready = [json.loads(line) for line in log.splitlines() if '"worker ready"' in line]
        pids = {int(entry["worker"].split(":")[1]) for entry in ready}
        return {pid for pid in pids if psutil.pid_exists(pid)}

    def postmaster(self) -> int | None:
        try:
            lines = (self.data_dir / "postgres" / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:  # a new Postgres may remove the file of the old one at any moment
            return None
        return int(lines[0]) if lines else None  # while Postgres starts, the file is empty for a moment

    def processes(self) -> list[psutil.Process]:
        """Returns all processes with our data directory in their environment or command line, orphans included. Ours
        hide their environment, except from root: so those below `up` are included as well."""
        found = []
        with suppress(psutil.Error):
            up = psutil.Process(self.process.pid)
            found = [up, *up.children(recursive=True)]
        for process in set(psutil.process_iter()) - set(found):
            try:
                ours = process.environ().get("CALLBOARD_DATA_DIR") == str(self.data_dir)
                if ours or str(self.data_dir / "postgres") in process.cmdline():
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def interrupt(self, number: int = signal.SIGINT) -> None:
        """Sends a signal to the whole process group, as a terminal does for Ctrl-C."""
        os.killpg(self.process.pid, number)

    def lose_power(self) -> None:
        """Kills all processes. They are stopped first, so that none can react to the end of another."""
        killed = self.processes()
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in killed:
                process.send_signal(number)
        self.process.wait(10)
        eventually(lambda: not self.processes(), what="all are gone")

    def destroy(self) -> None:
        """Kills all processes that the test has left."""
        for process in self.processes():
            process.kill()
        self.process.wait(10)
        remove_socket_folder(self.data_dir)
