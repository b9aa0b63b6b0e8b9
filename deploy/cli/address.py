"""Where the HTTP server will answer."""

import http.client
import socket

from deploy.cli.exits import COMMAND_FAILED, Failure


def free_port(host: str, port: int) -> int:
    """The port, or any free one for 0. Found out before anything is started."""
    try:
        for family, kind, protocol, _, place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            with socket.socket(family, kind, protocol) as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trial.bind((place[0], port, *place[2:]))
                port = trial.getsockname()[1]
    except OSError as taken:
        raise Failure(
            COMMAND_FAILED,
            f"Cannot listen on {host}:{port}: {taken.strerror}. Does `callboard up` run already? "
            f"Another port: CALLBOARD_PORT={port + 1} callboard up",
        ) from taken
    return port


def url_of(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def answers(host: str, port: int, path: str) -> bool:
    connection = http.client.HTTPConnection(host, port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
