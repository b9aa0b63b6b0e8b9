"""Receives hints, on one direct connection for all subscribers of a process."""

import os
import select
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import psycopg
from psycopg import sql

from state.database.connection import Connection
from state.database.errors import kind_of
from state.database.notifier import EVERYTHING
from state.database.queries import connect
from state.logs import log

_CHECK_SECONDS = 2.0
_RECONNECT_SECONDS = 1.0
_READ_ONLY = (b"default_transaction_read_only", b"in_hot_standby")

Heard = Callable[[Sequence[str]], None]  # called with the names in a hint


class WakePipe:
    """Lets another thread end a wait for a connection."""

    def __init__(self) -> None:
        self._end, self._start = os.pipe()
        os.set_blocking(self._end, False)
        os.set_blocking(self._start, False)

    def fileno(self) -> int:
        return self._end

    def wake(self) -> None:
        with suppress(BlockingIOError):  # it is full: the wait ends anyway
            os.write(self._start, b"!")

    def drain(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._end, 4096)

    def close(self) -> None:
        os.close(self._start)
        os.close(self._end)


class Channel:
    """A connection that listens. Calls `heard(names)` for each hint, and `heard([EVERYTHING])` when it begins: earlier
    hints are lost, so everything must be read again. The connection may also be used for statements: hints that arrive
    together with an answer are heard as well."""

    def __init__(self, connection: Connection, channel: str, heard: Heard, wake_pipe: WakePipe) -> None:
        self._server = connection.pgconn
        self._heard = heard
        self._wake_pipe = wake_pipe
        self._sockets = select.poll()
        self._sockets.register(connection, select.POLLIN)
        self._sockets.register(wake_pipe, select.POLLIN)
        connection.add_notify_handler(lambda notification: heard(notification.payload.split(",")))
        connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)), prepare=False)
        heard([EVERYTHING])

    def wait(self, seconds: float) -> bool:
        """Waits for a hint or the wake pipe. Returns False if the time has passed without either."""
        ready = self._sockets.poll(seconds * 1000)
        for socket, _ in ready:
            if socket == self._wake_pipe.fileno():
                self._wake_pipe.drain()
            else:
                self._server.consume_input()
        # psycopg's own generator of notifications takes longer than the claim that follows.
        while (notification := self._server.notifies()) is not None:
            self._heard(notification.extra.decode().split(","))
        return bool(ready)


class Listener:
    """A thread that listens on a connection of its own."""

    def __init__(self, channel: str, heard: Heard) -> None:
        self._channel = channel
        self._heard = heard
        self._stopping = threading.Event()
        self.connected = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"listener:{channel}", daemon=True)

    def start(self) -> None:
        self._wake_pipe = WakePipe()  # so that a stop does not take as long as a wait
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._wake_pipe.wake()
        self._thread.join(timeout=_CHECK_SECONDS + 1)
        self._wake_pipe.close()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with connect("listener", direct=True) as connection:
                    self._listen(connection)
            except Exception as lost:  # of any kind: the next connection may work
                self._report(lost)
            self.connected.clear()
            self._stopping.wait(_RECONNECT_SECONDS)

    def _listen(self, connection: Connection) -> None:
        require_writable(connection)
        listening = Channel(connection, self._channel, self._heard, self._wake_pipe)
        self.connected.set()
        while not self._stopping.is_set():
            if not listening.wait(_CHECK_SECONDS):
                require_writable(connection)

    def _report(self, lost: Exception) -> None:
        write = log.error if kind_of(lost) == "bug" else log.warning
        write("listener lost its connection", channel=self._channel, error=str(lost).strip())


def require_writable(connection: Connection) -> None:
    """Raises an error if the server has vanished, or if it was demoted: a standby sends no hints. The server reports
    these settings by itself, so that no transaction is needed to ask for them."""
    connection.sync()
    if any(connection.pgconn.parameter_status(name) != b"off" for name in _READ_ONLY):
        raise psycopg.errors.ReadOnlySqlTransaction("the server is read-only")
