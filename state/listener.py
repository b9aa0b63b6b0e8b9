"""Hears the hints: one thread and one direct connection for a process, whatever the number of listeners behind it."""

import select
import socket
import threading
from collections.abc import Callable, Sequence

import psycopg
from psycopg import sql

from state.bell import EVERYTHING
from state.connection import Connection
from state.database import get_database
from state.logs import log
from state.statements import statement

_CHECK_SECONDS = 2.0
_RECONNECT_SECONDS = 1.0


class Listener:
    """Calls `heard(hints)` for each notification, and `heard([EVERYTHING])` after each (re)connection: what was sent
    meanwhile is lost, so everything must be looked at again."""

    def __init__(self, channel: str, heard: Callable[[Sequence[str]], None]) -> None:
        self._channel = channel
        self._heard = heard
        self._stopping = threading.Event()
        self.connected = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"listener:{channel}", daemon=True)

    def start(self) -> None:
        self._nudge, self._nudged = socket.socketpair()  # so that a stop need not sit out a wait
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._nudge.close()
        self._thread.join(timeout=_CHECK_SECONDS + 1)
        self._nudged.close()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with get_database().connect("listener", direct=True) as connection:
                    connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)), prepare=False)
                    self.connected.set()
                    self._heard([EVERYTHING])
                    self._listen(connection)
            except psycopg.Error as lost:
                log.warning("listener lost its connection", channel=self._channel, error=str(lost).strip())
            self.connected.clear()
            self._stopping.wait(_RECONNECT_SECONDS)

    def _listen(self, connection: Connection) -> None:
        connection.add_notify_handler(lambda notification: self._notified(notification.payload))
        sockets = select.poll()
        sockets.register(connection, select.POLLIN)
        sockets.register(self._nudged, select.POLLIN)
        while not self._stopping.is_set():
            if not sockets.poll(_CHECK_SECONDS * 1000):
                connection.execute(statement("alive"))  # a dead peer does not say so
            # psycopg's own generator of notifications takes longer to wake up than the task to be claimed.
            connection.pgconn.consume_input()
            while (notification := connection.pgconn.notifies()) is not None:
                self._notified(notification.extra.decode())

    def _notified(self, payload: str) -> None:
        self._heard(payload.split(","))
