"""A Redis of the bench's own: on a free port of loopback, with its append-only file on."""

import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path

from tests.bench.harness.errors import BenchError, Unavailable
from tests.bench.harness.processes import Children, tail

# A task that was accepted must survive a crash of Redis, except for the last second: what Redis itself recommends for
# durability. (`always` would be as strict as Postgres's commits; it makes the peers slower.)
PERSISTENCE = ("--appendonly", "yes", "--appendfsync", "everysec", "--save", "")


class Redis:
    """Started when a contender first needs it."""

    def __init__(self, folder: Path, children: Children) -> None:
        self._folder = folder / "redis"
        self._children = children

    @cached_property
    def port(self) -> int:
        binary = shutil.which("redis-server")
        if binary is None:
            raise Unavailable("needs redis-server, and it is not installed here")
        self._folder.mkdir(exist_ok=True)
        with closing(socket.socket()) as taken:
            taken.bind(("127.0.0.1", 0))
            port = int(taken.getsockname()[1])
        log = self._folder / "redis.log"
        arguments = ("--port", str(port), "--bind", "127.0.0.1", "--dir", str(self._folder), *PERSISTENCE)
        process = self._children.start([binary, *arguments], log=log)
        deadline = time.monotonic() + 20
        while process.poll() is None and time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return port
        raise BenchError(f"Redis did not start\n{tail(log)}")

    @contextmanager
    def database(self, name: str) -> Iterator[str]:
        """Empty before and after; there is one at a time."""
        self._flush()
        try:
            yield f"redis://127.0.0.1:{self.port}/0"
        finally:
            self._flush()

    def count(self, *commands: str) -> int:
        """The sum of the integers that these commands answer."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            answers = connection.makefile("rb")
            total = 0
            for command in commands:
                connection.sendall(command.encode() + b"\r\n")  # an inline command
                answer = answers.readline()
                if not answer.startswith(b":"):
                    raise BenchError(f"Redis answered {answer!r} to {command!r}")
                total += int(answer[1:])
        return total

    def _flush(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(b"FLUSHALL\r\n")
            connection.makefile("rb").readline()
