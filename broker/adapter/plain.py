"""Plain Dramatiq actors: the table and the protocol of dramatiq-pg, with a consumer of our own. The consumer of
dramatiq-pg sometimes gives a message to two processes (it frees the lock before the end is committed), reads all
pending messages into memory, fills Postgres's lock table, and looks for crashed work only every five minutes."""

import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from dramatiq import DecodeError, Message, MessageProxy, errors
from dramatiq.broker import Consumer
from dramatiq.common import q_name
from dramatiq_pg.utils import make_pool

from state.database import get_database
from state.database.errors import kind_of
from state.database.listener import WakePipe
from state.logs import log
from state.workers.plain_queue import LOOK_SECONDS, PlainEnd, PlainMessage, PlainQueue, settle

# Each message that is held needs an entry in Postgres's lock table. Dramatiq would prefetch thousands of delayed ones.
_MOST_HELD = 500


class LazyPool:
    """The pool of dramatiq-pg, opened at its first use: an import must not connect to a database, or start one."""

    def __init__(self) -> None:
        self._pool: Any = None
        self._opening = threading.Lock()

    def _open(self) -> Any:
        with self._opening:  # the threads of all consumers call this, and must get the same pool
            if self._pool is None:
                self._pool = make_pool(get_database().direct_url())
            return self._pool

    @property
    def minconn(self) -> int:
        return int(self._open().minconn)

    def getconn(self) -> Any:
        return self._open().getconn()

    def putconn(self, connection: Any) -> None:
        self._open().putconn(connection)

    def closeall(self) -> None:
        if self._pool is not None:
            self._pool.closeall()
            self._pool = None


class PlainConsumer(Consumer):
    """Takes messages and writes their ends in batches, both in one round trip. The consumer's thread does all of it;
    the threads that run messages only add to the list of ends. Errors of the database do not stop the consumer: it
    keeps the messages that it holds, and writes the ends later."""

    def __init__(self, queue_name: str, prefetch: int, timeout: int) -> None:
        self._name = queue_name
        self._delayed = q_name(queue_name) != queue_name
        self._most = min(prefetch, _MOST_HELD)
        self._timeout = timeout / 1000
        self._wake_pipe = WakePipe()
        self._queue = PlainQueue(queue_name, self._on_notification, self._wake_pipe, delayed=self._delayed)
        self._ready: deque[Message[Any]] = deque()
        self._held: set[str] = set()  # taken, with an end that is not committed yet
        self._ends: list[PlainEnd] = []
        self._ending = threading.Lock()
        self._closed = False
        self._may_have_more = True
        self._next_look = 0.0

    def _on_notification(self, _: Sequence[str]) -> None:
        if not self._delayed:  # delayed messages are fetched when they are due
            self._may_have_more = True

    def __next__(self) -> MessageProxy | None:
        if not self._ready:
            try:
                self._take_turn()
            except Exception as failure:
                self._recover(failure)
        return MessageProxy(self._ready.popleft()) if self._ready else None

    def _take_turn(self) -> None:
        listening = self._queue.connect(self._held)
        if not (self._ends or self._queue.to_unlock or self._count_wanted()):
            listening.wait(max(min(self._timeout, self._next_look - time.monotonic()), 0))
        self._queue.requeue_abandoned(self._held)
        wanted = self._count_wanted()
        if wanted:
            self._may_have_more = False
            self._next_look = time.monotonic() + (self._timeout if self._delayed else LOOK_SECONDS)
        ends = self._ends[:]
        if not (wanted or ends or self._queue.to_unlock):
            return
        taken = self._queue.exchange(ends, wanted, self._held)
        self._forget(ends)
        self._may_have_more = self._may_have_more or bool(taken)
        for message in taken:
            self._accept(message)

    def _count_wanted(self) -> int:
        """Returns how many messages to ask for now."""
        due = self._may_have_more or time.monotonic() >= self._next_look
        return max(self._most - len(self._held), 0) if due else 0

    def _accept(self, message: PlainMessage) -> None:
        self._held.add(message.id)
        try:
            self._ready.append(Message.decode(message.body.encode()))
        except DecodeError:
            log.exception("a plain message cannot be decoded and is rejected", queue=self._name, message_id=message.id)
            self._end(PlainEnd(message.id, "rejected", None))

    def _forget(self, ends: Sequence[PlainEnd]) -> None:
        with self._ending:
            del self._ends[: len(ends)]
        self._held.difference_update(end.id for end in ends)

    def _recover(self, failure: Exception) -> None:
        kind = kind_of(failure)
        write = log.error if kind == "bug" else log.warning
        write("plain messages: no answer from the database", queue=self._name, kind=kind, error=str(failure).strip())
        self._queue.close()
        if kind == "bad row":  # a body that cannot be stored: write the ends without it
            with self._ending:
                self._ends = [PlainEnd(end.id, end.state, None) for end in self._ends]
        else:
            time.sleep(self._timeout / 2)
        self._may_have_more = True

    def ack(self, message: MessageProxy) -> None:
        self._end(_make_end(message, "done"))

    def nack(self, message: MessageProxy) -> None:
        self._end(_make_end(message, "rejected"))

    def _end(self, end: PlainEnd) -> None:
        with self._ending:
            if not self._closed:
                self._ends.append(end)
                self._wake_pipe.wake()
                return
        settle(self._name, [end])

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        ids = {message.message_id for message in messages}
        if ids:
            self._give_back(ids)

    def close(self) -> None:
        with self._ending:
            if self._closed:
                return
            self._closed = True
        try:
            if self._ends:
                self._queue.connect(self._held)
                self._queue.exchange(self._ends, 0, self._held)
            if self._ready:
                self._give_back({message.message_id for message in self._ready})
        except Exception as failure:  # the messages will be delivered again
            log.warning("plain messages could not be given back", queue=self._name, error=str(failure).strip())
        self._queue.close()
        self._wake_pipe.close()

    def _give_back(self, ids: set[str]) -> None:
        try:
            self._queue.connect(self._held)
            self._queue.requeue(ids)
        except Exception as failure:
            self._queue.close()
            raise errors.ConnectionError(str(failure)) from failure
        self._held -= ids


def _make_end(message: MessageProxy, state: Literal["done", "rejected"]) -> PlainEnd:
    try:
        body = message.encode().decode()
    except Exception:  # middleware has added something that cannot be encoded
        log.exception("a plain message cannot be encoded", message_id=message.message_id)
        body = None
    return PlainEnd(message.message_id, state, body)
