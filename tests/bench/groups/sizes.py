"""How much is measured: in full, and in a quick run that only shows that everything works."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    single: int = 1_000
    batch: int = 10_000
    drain: int = 10_000
    drain_large: int = 100_000
    async_notes: int = 10_000
    waits: int = 1_000
    wait_seconds: float = 5.0
    wait_places: int = 500  # coroutines of each of two processes
    latency: int = 100
    recovery_seconds: float = 45.0  # how long a recovery is waited for
    memory: int = 100_000
    memory_seconds: float = 5.0  # how long workers run before their memory is read
    claim: tuple[int, int, int] = (1_000, 100_000, 1_000_000)
    http_seconds: float = 8.0
    http_rows: int = 2_000  # tasks that exist before lists are read
    streams: int = 5_000
    frozen: int = 500
    stream_tasks: int = 50
    stream_seconds: float = 20.0
    frozen_seconds: float = 15.0  # until the buffers of frozen readers are full
    idle_seconds: float = 60.0  # the pace of autovacuum, whose transactions count as well
    idle_more: int = 4  # further workers
    history: int = 1_000_000
    history_calls: int = 7
    commits_seconds: int = 5


QUICK = Sizes(
    single=300,
    batch=3_000,
    drain=1_000,
    drain_large=3_000,
    async_notes=1_000,
    waits=100,
    wait_seconds=1.0,
    wait_places=50,
    latency=30,
    recovery_seconds=5.0,
    memory=5_000,
    memory_seconds=2.0,
    claim=(1_000, 5_000, 20_000),
    http_seconds=1.5,
    http_rows=300,
    streams=300,
    frozen=30,
    stream_tasks=10,
    stream_seconds=4.0,
    frozen_seconds=4.0,
    idle_seconds=8.0,
    idle_more=2,
    history=10_000,
    history_calls=3,
    commits_seconds=1,
)
