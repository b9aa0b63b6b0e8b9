"""A server on 0.0.0.0 in a network of its own, where the machine has two addresses: loopback, and one that others would
use. Started as `unshare --net python -m tests.guard.own_network FOLDER`; prints what was answered, as JSON."""

import fcntl
import http.client
import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from state.access.keys import create_key
from tests.support.eventually import eventually

ROOT = Path(__file__).parents[2]
LOOPBACK, ELSEWHERE = "127.0.0.1", "192.0.2.10"  # an address for documentation, on no real network

_SIOCSIFFLAGS, _SIOCSIFADDR, _UP = 0x8914, 0x8916, 1


def add_address(interface: str, address: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        place = struct.pack("16sHH4s8x", interface.encode(), socket.AF_INET, 0, socket.inet_aton(address))
        fcntl.ioctl(control, _SIOCSIFADDR, place)
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH14x", interface.encode(), _UP))


@contextmanager
def run_server(log: Path, *arguments: str) -> Iterator[Callable[[], str]]:
    """Plain uvicorn, which believes what every client says about proxies. Yields a function that waits until it
    listens, and returns where."""
    command = [sys.executable, "-m", "uvicorn", "--app-dir", "http", "--factory", "taskapi:create_app", *arguments]
    environment = {**os.environ, "FORWARDED_ALLOW_IPS": "*"}
    with (
        log.open("w") as file,
        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=file, stderr=file) as server,
    ):

        def find_place() -> str:
            assert server.poll() is None, log.read_text()
            return log.read_text().partition("running on ")[2].partition(" ")[0]

        try:
            yield lambda: eventually(find_place, what="the server listens")
        finally:
            server.kill()


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self._path)


def ask(connection: http.client.HTTPConnection, path: str = "/api/v1/tasks", **headers: str) -> str:
    """Returns the status, and the problem if there is one."""
    try:
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return f"{response.status} {json.loads(response.read()).get('error', '')}".strip()
    finally:
        connection.close()


def main(folder: Path) -> None:
    add_address("lo", LOOPBACK)
    add_address("lo:1", ELSEWHERE)
    with ExitStack() as stack:
        unix = str(folder / "server.sock")
        wait_for_tcp = stack.enter_context(run_server(folder / "http.log", "--host", "0.0.0.0", "--port", "0"))
        wait_for_unix = stack.enter_context(run_server(folder / "unix.log", "--uds", unix))
        port = int(wait_for_tcp().rpartition(":")[2])
        wait_for_unix()

        def connect(to: str, source: str) -> http.client.HTTPConnection:
            return http.client.HTTPConnection(to, port, timeout=20, source_address=(source, 0))

        found = {
            "local": ask(connect(LOOPBACK, LOOPBACK)),
            "local unix": ask(UnixConnection(unix)),
            "other address": ask(connect(ELSEWHERE, ELSEWHERE)),
            "other address, named localhost": ask(connect(ELSEWHERE, ELSEWHERE), Host="localhost"),
            "other address, page": ask(connect(ELSEWHERE, ELSEWHERE), "/", Host="localhost"),
            "other address, unknown path": ask(connect(ELSEWHERE, ELSEWHERE), "/nothing", Host="localhost"),
            "from another address": ask(connect(LOOPBACK, ELSEWHERE)),
            "to another address": ask(connect(ELSEWHERE, LOOPBACK), Host="localhost"),
            "says it is local": ask(connect(ELSEWHERE, ELSEWHERE), Host="localhost", X_Forwarded_For=LOOPBACK),
            "through a local proxy": ask(connect(LOOPBACK, LOOPBACK), X_Forwarded_For="203.0.113.9"),
            "through a local proxy, unix": ask(UnixConnection(unix), X_Forwarded_For="203.0.113.9"),
            "proxy that names the scheme": ask(connect(LOOPBACK, LOOPBACK), X_Forwarded_Proto="https"),
            "rebound name": ask(connect(LOOPBACK, LOOPBACK), Host="rebound.example.com"),
        }
        _, key = create_key("test", "operator")
        bearer = f"Bearer {key}"
        eventually(lambda: ask(connect(LOOPBACK, LOOPBACK)).startswith("401"), what="the server knows of the key")
        found["other address, key"] = ask(connect(ELSEWHERE, ELSEWHERE), Authorization=bearer, Host="callboard.example")
        found["other address, no key"] = ask(connect(ELSEWHERE, ELSEWHERE))
        found["local, no key"] = ask(connect(LOOPBACK, LOOPBACK))
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
