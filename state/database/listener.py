"""Hears the hints: one direct connection for a process, whatever the number of listeners behind it."""

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
from state.database.pool import get_database
from state.database.statements import statement
from state.logs import log

_CHECK_SECONDS = 2.0
_RECONNECT_SECONDS = 1.0

Heard = Callable[[Sequence[str]], None]


class WakePipe:
    """Ends somebody's wait for a connection."""

    def __init__(self) -> None:
        self._end, self._start = os.pipe()
        os.set_blocking(self._end, False)
        os.set_blocking(self._start, False)

    def fileno(self) -> int:
        return self._end

    def wake(self) -> None:
        with suppress(BlockingIOError):  # it is full already
            os.write(self._start, b"!")

    def drain(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._end, 4096)

    def close(self) -> None:
        os.close(self._start)
        os.close(self._end)


class Channel:
    """A connection that listens. Calls `heard(hints)` for each notification, and `heard([EVERYTHING])` when it begins:
    what was sent before is lost, so everything must be looked at again. The connection may be used for more: what
    arrives beside an answer is heard as well."""

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
        """Until something is heard or somebody nudges; False when the time has passed."""
        ready = self._sockets.poll(seconds * 1000)
        for socket, _ in ready:
            if socket == self._wake_pipe.fileno():
                self._wake_pipe.drain()
            else:
                self._server.consume_input()
        # psycopg's own generator of notifications takes longer to wake up than the task to be claimed.
        while (notification := self._server.notifies()) is not None:
            self._heard(notification.extra.decode().split(","))
        return bool(ready)


class Listener:
    """A thread and a connection that do nothing else."""

    def __init__(self, channel: str, heard: Heard) -> None:
        self._channel = channel
        self._heard = heard
        self._stopping = threading.Event()
        self.connected = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"listener:{channel}", daemon=True)

    def start(self) -> None:
        self._wake_pipe = WakePipe()  # so that a stop need not sit out a wait
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._wake_pipe.wake()
        self._thread.join(timeout=_CHECK_SECONDS + 1)
        self._wake_pipe.close()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with get_database().connect("listener", direct=True) as connection:
                    self._listen(connection)
            except Exception as lost:  # whatever it is, the next connection may be better
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
    """Fails if the peer is dead, which does not say so, or if it was demoted: nobody sends hints through a standby."""
    [row] = connection.execute(statement("writable")).fetchall()
    if not row["writable"]:
        raise psycopg.errors.ReadOnlySqlTransaction("the server is read-only")
