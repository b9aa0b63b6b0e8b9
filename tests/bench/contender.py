"""The interface of a contender, and the messages that it sends to the harness."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

PROCESSES = 2
THREADS = 8
BATCH = 1000  # tasks in one batched submit, for everybody


class BenchError(Exception):
    """One measurement of one contender failed; the others go on."""


class StalledError(BenchError):
    """The contender stopped before its work was done."""


@dataclass(frozen=True)
class Drain:
    """N queued tasks worked off: first start to last commit, seen from outside."""

    count: int
    seconds: float
    duplicates: int

    @property
    def rate(self) -> float:
        return (self.count - 1) / self.seconds


class Contender(Protocol):
    """The harness calls setup with a fresh, empty database before each measurement and close after it."""

    name: str

    def setup(self, database_url: str) -> None:
        """Create the schema."""

    def submit_one_rate(self, count: int) -> float:
        """Single submits per second from one process, each its own commit."""

    def submit_batch_rate(self, count: int) -> float | None:
        """Submits per second in batches of BATCH from one process; None if it has no batches."""

    def drain(self, count: int) -> Drain:
        """Queue the no-op tasks, then start PROCESSES x THREADS, wait until all is committed as finished."""

    def idle_latency(self, count: int) -> list[float]:
        """Milliseconds from submit to start for single submits to idle, running workers."""

    def worker_memory(self, count: int) -> float:
        """Resident MB of the median worker process at work on a backlog of that many tasks."""

    def close(self) -> None:
        """End every process of this measurement."""


@runtime_checkable
class ClaimTimer(Protocol):
    """Callboard only: how long one claim takes at a given size of the table."""

    def claim_ms(self, rows: dict[str, int]) -> float:
        """Fill the (fresh) database, then the milliseconds of one claim."""
