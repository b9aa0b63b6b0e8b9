"""Where a contender keeps its tasks, and how to see from outside that it has finished them."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

import psycopg

from tests.bench.harness.postgres import Server
from tests.bench.harness.redis import Redis


@dataclass(frozen=True)
class Tally:
    """Asked only when all tasks have started: counting must not slow a contender down."""

    unfinished: Callable[[], int]
    finished: Callable[[], int | None]  # None: it keeps no track of them


class Store(Protocol):
    def database(self, name: str) -> AbstractContextManager[str]:
        """A fresh, empty database, gone afterwards; its URL."""

    def settle(self, url: str) -> None:
        """After a fill: what would have been done by now in the background is done."""

    def tally(self, url: str) -> AbstractContextManager[Tally]: ...


@dataclass(frozen=True)
class PostgresStore:
    server: Server
    unfinished: str  # SQL: how many tasks are not finished yet
    finished: str | None  # SQL: how many tasks finished well; None: they are deleted

    def database(self, name: str) -> AbstractContextManager[str]:
        return self.server.database(name)

    def settle(self, url: str) -> None:
        """What autovacuum would have done by now, and no checkpoint left to come in between."""
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("vacuum (analyze)")
            connection.execute("checkpoint")

    @contextmanager
    def tally(self, url: str) -> Iterator[Tally]:
        with psycopg.connect(url, autocommit=True) as connection:

            def number(query: str) -> int:
                row = connection.execute(query.encode()).fetchone()
                return int(row[0]) if row else 0

            finished = self.finished
            yield Tally(lambda: number(self.unfinished), lambda: None if finished is None else number(finished))


@dataclass(frozen=True)
class RedisStore:
    redis: Redis
    unfinished: tuple[str, ...]  # commands whose answers add up to the tasks that are not finished yet

    def database(self, name: str) -> AbstractContextManager[str]:
        return self.redis.database(name)

    def settle(self, url: str) -> None:
        """Nothing waits in the background."""

    @contextmanager
    def tally(self, url: str) -> Iterator[Tally]:
        yield Tally(lambda: self.redis.count(*self.unfinished), lambda: None)
