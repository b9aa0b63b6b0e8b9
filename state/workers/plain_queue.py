"""A queue of dramatiq-pg's table, with the messages of plain Dramatiq actors, as one consumer sees it.

A message is `consumed` while its consumer's session holds the message's advisory lock, so everybody can see whether the
consumer lives; other users of dramatiq-pg go by the same lock. It is taken together with the message, under the row's
lock, and freed only after the message's end is committed: in between nobody else can have it."""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from state.database.connection import Call, Connection
from state.database.listener import Channel, Heard, WakePipe
from state.database.pool import fetch_often, get_database
from state.database.statements import statement
from state.logs import log

LOOK_SECONDS = 1.5  # between two looks for messages that nobody told us of
_AHEAD_MS = 1000  # delayed messages are taken so long before they are due


@dataclass(frozen=True)
class PlainMessage:
    id: str
    body: str


@dataclass(frozen=True)
class PlainEnd:
    id: str
    state: Literal["done", "rejected"]
    body: str | None  # None: as it was


class PlainQueue:
    def __init__(self, name: str, heard: Heard, wake_pipe: WakePipe, *, delayed: bool) -> None:
        self._name = name
        self._heard = heard
        self._wake_pipe = wake_pipe
        self._delayed = delayed
        self._connection: Connection | None = None
        self._listening: Channel | None = None
        self._settled: list[str] = []  # still locked
        self._suspects: set[str] = set()  # consumed, and nobody had the lock when we looked
        self._looked_at = 0.0

    def connect(self, held: Collection[str]) -> Channel:
        """Connects if there is no connection, and takes the locks of the messages that the consumer still holds."""
        if self._connection is None or self._listening is None or self._connection.closed:
            self.close()
            self._connection = connection = get_database().connect("plain", direct=True)
            connection.execute(statement("plain_session"))
            connection.fetch("plain_relock", {"queue": self._name, "ids": ",".join(held)})
            self._listening = Channel(connection, f"dramatiq.{self._name}.enqueue", self._heard, self._wake_pipe)
        return self._listening

    @property
    def to_unlock(self) -> bool:
        return bool(self._settled)

    def exchange(self, ends: Sequence[PlainEnd], room: int, held: Collection[str]) -> list[PlainMessage]:
        """Writes the ends and takes as many messages, in one round trip. After an error the caller must close: nobody
        knows which locks the session has."""
        calls: list[Call] = []
        if self._settled:
            calls.append(("plain_unlock", {"queue": self._name, "ids": ",".join(self._settled)}))
        if ends:
            calls.append(_settlement(self._name, ends))
        if room:
            calls.append(self._claim(room, held))
        answers = self._opened().pipeline(calls)
        self._settled = [end.id for end in ends]
        return [PlainMessage(**row) for row in answers[-1]] if room else []

    def _claim(self, room: int, held: Collection[str]) -> Call:
        asked: dict[str, str | int] = {"queue": self._name, "room": room, "held": ",".join(held)}
        if self._delayed:
            return "plain_claim_due", {**asked, "due": int(time.time() * 1000) + _AHEAD_MS}
        return "plain_claim", asked

    def requeue_abandoned(self, held: Collection[str]) -> None:
        """Queues again what nobody held at two looks in a row: at the first the consumer may have been about to commit,
        or to connect again."""
        if time.monotonic() < self._looked_at + LOOK_SECONDS:
            return
        self._looked_at = time.monotonic()
        rows = self._opened().fetch("plain_abandoned", {"queue": self._name, "held": ",".join(held)})
        seen = {row["id"] for row in rows}
        if abandoned := seen & self._suspects:
            log.warning("plain messages of a lost process are queued again", queue=self._name, count=len(abandoned))
            self.requeue(abandoned)
        self._suspects = seen - abandoned

    def requeue(self, ids: Collection[str]) -> None:
        self._opened().fetch("plain_requeue", {"queue": self._name, "ids": ",".join(ids)})

    def close(self) -> None:
        """Frees all locks."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._listening = None
        self._settled, self._suspects = [], set()

    def _opened(self) -> Connection:
        assert self._connection is not None  # noqa: S101  (connect comes first)
        return self._connection


def settle(queue: str, ends: Sequence[PlainEnd]) -> None:
    """Without the consumer's own connection, for ends that come after it was closed."""
    fetch_often(*_settlement(queue, ends))


def _settlement(queue: str, ends: Sequence[PlainEnd]) -> Call:
    # The bodies are JSON already, and must not be quoted once more.
    ended = ",".join(f'{{"id": "{end.id}", "state": "{end.state}", "body": {end.body or "null"}}}' for end in ends)
    return "plain_settle", {"queue": queue, "ended": f"[{ended}]"}
