"""The address of the HTTP server."""

import http.client
import socket
from ipaddress import ip_address

from deploy.cli.exits import COMMAND_FAILED, Failure


def find_free_port(host: str, port: int) -> int:
    """Returns the port, or any free port for 0. Raises Failure if it is taken, before anything has been started."""
    try:
        for family, kind, protocol, _, place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            with socket.socket(family, kind, protocol) as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trial.bind((place[0], port, *place[2:]))
                port = trial.getsockname()[1]
    except OSError as taken:
        raise Failure(
            COMMAND_FAILED,
            f"Cannot listen on {host}:{port}: {taken.strerror}. Is `callboard up` running already? "
            f"To use another port: CALLBOARD_PORT={port + 1} callboard up",
        ) from taken
    return port


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine can reach the address, by what it resolves to."""
    try:
        found = {ip_address(place[0]) for *_, place in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except (OSError, ValueError):
        return False
    return all(address.is_loopback for address in found)


def find_own_host(host: str) -> str:
    """Returns the host by which this machine reaches its server: a wildcard is not an address."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  (compared, not listened on)


def format_url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def responds_ok(host: str, port: int, path: str) -> bool:
    connection = http.client.HTTPConnection(host, port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
