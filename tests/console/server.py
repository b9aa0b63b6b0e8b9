"""A server process, as `callboard up` starts it."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2

from tests.support.eventually import eventually
from tests.support.ports import find_free_port

ROOT = Path(__file__).parents[2]


class ServerProcess:
    def __init__(self, log: Path, **settings: object) -> None:
        self._log = log
        self._settings = {f"CALLBOARD_{name.upper()}": str(value) for name, value in settings.items()}
        self.port = find_free_port()
        self.url = f"http://127.0.0.1:{self.port}/"
        self._client = httpx2.Client(base_url=f"{self.url}api/v1", timeout=20, trust_env=False)

    def __enter__(self) -> "ServerProcess":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        self.kill()

    def start(self) -> None:
        command = [
            *(sys.executable, "-m", "uvicorn", "--app-dir", "http", "--factory", "taskapi:create_app"),
            *("--http", "taskapi.guard.connections:Connection", "--port", str(self.port), "--no-access-log"),
        ]
        with self._log.open("a") as log:
            environment = {**os.environ, **self._settings}
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        eventually(self._is_ready, what=f"the server is ready, see {self._log}")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)

    def call(self, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
        """Calls the API as a program would, such as call("POST", "/tasks", {…}); returns what it answers."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        response = self._client.request(method, path, json=body, headers=headers)
        assert response.is_success, response.text
        return response.json() if response.content else None

    def _is_ready(self) -> bool:
        assert self.process.poll() is None, self._log.read_text()
        try:
            return httpx2.get(f"{self.url}readyz", trust_env=False).status_code == 200
        except httpx2.TransportError:
            return False
