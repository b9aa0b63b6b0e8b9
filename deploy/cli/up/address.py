"""The address of the HTTP server."""

import http.client
import socket

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
