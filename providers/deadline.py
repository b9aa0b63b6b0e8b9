"""A limit on the time that a whole request may take."""

import contextlib
import socket
import threading
import time
from typing import Any

from providers.errors import NetworkTimeout


class Deadline:
    """Shuts the connection of a request when its time is over. Read timeouts do not bound the total time, because a
    server can send one byte before each of them ends."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._socket: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._shut)
        self._timer.daemon = True

    @property
    def passed(self) -> bool:
        return time.monotonic() >= self._end

    def check(self) -> None:
        """Raises NetworkTimeout if the time is over. Must be called at the end of a body: a body without a length
        looks complete when its connection is shut."""
        if self.passed:
            raise NetworkTimeout(f"It took longer than {self._seconds:g} s")

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """Keeps the socket. httpx2 calls this at each stage of a request; TLS replaces the socket."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._socket = info["return_value"].get_extra_info("socket")
            if self.passed:
                self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                # The method of the base class: the one of SSLSocket removes the TLS layer while another thread reads.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def __enter__(self) -> "Deadline":
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._socket = None
