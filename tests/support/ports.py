"""Ports on which nobody listens."""

import socket


def find_free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return min(port, 65000)  # a hundred after it are tried as well
