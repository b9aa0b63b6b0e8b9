"""The HTTP server as a process of its own, and clients of it that submit and follow while things break."""

import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from taskclient import Client
from tests.support.eventually import eventually
from tests.support.workers import ROOT

_COMMAND = ["-m", "uvicorn", "--app-dir", "http", "--factory", "taskapi:create_app", "--port", "0"]


@contextmanager
def start_http_server(
    log: Path, environment: Mapping[str, str], host: str = "127.0.0.1", through: Sequence[str] = ()
) -> Iterator[str]:
    """Yields its address. `through`: a command that starts the server's own. The server must live to the end."""
    command = [*through, sys.executable, *_COMMAND, "--host", host]
    with log.open("w") as out:
        process = subprocess.Popen(command, cwd=ROOT, env=dict(environment), stdout=out, stderr=out)

    def address() -> str | None:
        assert process.poll() is None, log.read_text()
        return log.read_text().partition("running on ")[2].partition(" ")[0] or None

    try:
        yield eventually(address, what="the server prints its address")
        assert process.poll() is None, log.read_text()
    finally:
        process.kill()
        process.wait(10)


class Submitter:
    """Submits tasks one after the other, in a thread of its own, and keeps the ids that were acknowledged."""

    def __init__(self, url: str, actor: str, payload: dict[str, Any]) -> None:
        self.accepted: list[str] = []
        self._url, self._actor, self._payload = url, actor, payload
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="submitter", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with Client(self._url) as client:
            while not self._stopping.wait(0.05):
                self.accepted.append(client.submit(self._actor, self._payload).task_id)

    def wait_for_more(self, tasks: int) -> None:
        """Until so many more tasks are acknowledged."""
        before = len(self.accepted)
        eventually(lambda: not self._thread.is_alive() or len(self.accepted) >= before + tasks, timeout=60)
        assert self._thread.is_alive(), "the submitter has failed"

    def stop(self) -> list[str]:
        self._stopping.set()
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self.accepted


class Follower:
    """Follows a task from its first event to its end, in a thread of its own."""

    def __init__(self, url: str, task: str) -> None:
        self.numbers: list[int] = []
        self.kinds: list[str] = []
        self._url, self._task = url, task
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with Client(self._url, patience=120) as client:
            for event in client.stream(self._task, after=0):
                self.kinds.append(event.kind)
                if event.kind != "done":
                    self.numbers.append(event.n)

    def wait(self) -> list[int]:
        """Returns the numbers of the events, when the stream has ended as it should."""
        self._thread.join(120)
        assert not self._thread.is_alive()
        assert self.kinds[-1:] == ["done"]
        return self.numbers
