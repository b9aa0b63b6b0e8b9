"""A queue of dramatiq-pg's table, with the messages of plain Dramatiq actors, for one consumer.

A message is `consumed` while its consumer's session holds the message's advisory lock, which shows whether the consumer
lives; other users of dramatiq-pg use the same lock. It is taken together with the message, under the row's lock, and
freed only after the message's end is committed: in between no other consumer can take the message."""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from state.database import Call, Connection, connect, fetch, fetch_each
from state.database.listener import Channel, Heard, WakePipe
from state.logs import log

LOOK_SECONDS = 1.5  # between two looks for messages without a hint
_AHEAD_MS = 1000  # delayed messages are taken this long before they are due


@dataclass(frozen=True)
class PlainMessage:
    id: str
    body: str


@dataclass(frozen=True)
class PlainEnd:
    id: str
    state: Literal["done", "rejected"]
    body: str | None  # None: unchanged


class PlainQueue:
    def __init__(self, name: str, heard: Heard, wake_pipe: WakePipe, *, delayed: bool) -> None:
        self._name = name
        self._heard = heard
        self._wake_pipe = wake_pipe
        self._delayed = delayed
        self._connection: Connection | None = None
        self._listening: Channel | None = None
        self._settled: list[str] = []  # still locked
        self._suspects: set[str] = set()  # consumed, and not locked at the last look
        self._looked_at = 0.0

    def connect(self, held: Collection[str]) -> Channel:
        """Connects if there is no connection, and takes the locks of the messages that the consumer still holds."""
        if self._connection is None or self._listening is None or self._connection.closed:
            self.close()
            self._connection = connection = connect("plain", direct=True)
            fetch("plain_session", {}, connection)
            fetch("plain_relock", {"queue": self._name, "ids": ",".join(held)}, connection)
            self._listening = Channel(connection, f"dramatiq.{self._name}.enqueue", self._heard, self._wake_pipe)
        return self._listening

    @property
    def to_unlock(self) -> bool:
        return bool(self._settled)

    def exchange(self, ends: Sequence[PlainEnd], room: int, held: Collection[str]) -> list[PlainMessage]:
        """Writes the ends and takes up to `room` messages, in one round trip. After an error the caller must close the
        queue: it is unknown which locks the session has."""
        calls: list[Call] = []
        if self._settled:
            calls.append(("plain_unlock", {"queue": self._name, "ids": ",".join(self._settled)}))
        if ends:
            calls.append(_make_settle_call(self._name, ends))
        if room:
            calls.append(self._make_claim_call(room, held))
        answers = fetch_each(calls, self._require_connection())
        self._settled = [end.id for end in ends]
        return [PlainMessage(**row) for row in answers[-1]] if room else []

    def _make_claim_call(self, room: int, held: Collection[str]) -> Call:
        asked: dict[str, str | int] = {"queue": self._name, "room": room, "held": ",".join(held)}
        if self._delayed:
            return "plain_claim_due", {**asked, "due": int(time.time() * 1000) + _AHEAD_MS}
        return "plain_claim", asked

    def requeue_abandoned(self, held: Collection[str]) -> None:
        """Queues messages again that were consumed and not locked at two looks in a row: at the first look the consumer
        may have been about to commit, or to connect again."""
        if time.monotonic() < self._looked_at + LOOK_SECONDS:
            return
        self._looked_at = time.monotonic()
        asked = {"queue": self._name, "held": ",".join(held)}
        rows = fetch("plain_abandoned", asked, self._require_connection())
        seen = {row["id"] for row in rows}
        if abandoned := seen & self._suspects:
            log.warning("plain messages of a lost process are queued again", queue=self._name, count=len(abandoned))
            self.requeue(abandoned)
        self._suspects = seen - abandoned

    def requeue(self, ids: Collection[str]) -> None:
        fetch("plain_requeue", {"queue": self._name, "ids": ",".join(ids)}, self._require_connection())

    def close(self) -> None:
        """Closes the connection, and with it frees all locks."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._listening = None
        self._settled, self._suspects = [], set()

    def _require_connection(self) -> Connection:
        assert self._connection is not None  # noqa: S101  (connect comes first)
        return self._connection


def settle(queue: str, ends: Sequence[PlainEnd]) -> None:
    """Writes ends without the consumer's own connection, after that was closed."""
    fetch(*_make_settle_call(queue, ends))


def _make_settle_call(queue: str, ends: Sequence[PlainEnd]) -> Call:
    # The bodies are JSON already and must not be quoted again.
    ended = ",".join(f'{{"id": "{end.id}", "state": "{end.state}", "body": {end.body or "null"}}}' for end in ends)
    return "plain_settle", {"queue": queue, "ended": f"[{ended}]"}
