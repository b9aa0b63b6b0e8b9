"""Thousands of streams of server-sent events on one process, beside a bare asyncio server; also with frozen readers."""

from functools import partial
from typing import Any

from tests.bench.groups.group import Group, Measurement
from tests.bench.groups.sizes import Sizes
from tests.bench.harness.bench import Bench
from tests.bench.harness.board import open_board
from tests.bench.harness.errors import BenchError
from tests.bench.harness.requests import Requests
from tests.bench.peers.roster import CALLBOARD
from tests.bench.references.running import bare_sse, run_load
from tests.bench.results.metric import Metric

BARE = "bare"  # its events are committed to Postgres, as ours are
UNSTORED = "bare_unstored"  # makes its events itself, in memory: what the fan-out alone takes
UNFROZEN = f"{CALLBOARD}_unfrozen"
PERIOD = 2.0  # seconds between two events of a task: 5,000 streams get 2,500 events a second
LARGE = 200_000  # characters that a frozen reader gets first: more than the sockets' buffers take
SLOWER = 1.5


def group(sizes: Sizes) -> Group:
    name = f"{sizes.streams:,} streams, {sizes.streams / PERIOD:,.0f} events/s"
    bars = {BARE: 1 / SLOWER}
    p50 = Metric("sse_p50", f"{name}, p50", "ms")
    p99 = Metric("sse_p99", f"{name}, p99", "ms", bars=bars, limit=250.0)
    frozen_p50 = Metric("sse_frozen_p50", f"the same with {sizes.frozen:,} frozen readers, p50", "ms")
    frozen_p99 = Metric(
        "sse_frozen_p99",
        f"the same with {sizes.frozen:,} frozen readers, p99",
        "ms",
        bars={**bars, UNFROZEN: 1 / SLOWER},
        limit=250.0,
    )

    def load(bench: Bench, port: int, paths: list[str], frozen: list[str], key: str = "") -> tuple[float, float]:
        spec: dict[str, Any] = {
            "port": port,
            "paths": [paths[number % len(paths)] for number in range(sizes.streams)],
            "frozen_paths": [frozen[number % len(frozen)] for number in range(sizes.frozen)] if frozen else [],
            "headers": {"Authorization": f"Bearer {key}"} if key else {},
            "warm_seconds": sizes.frozen_seconds if frozen else PERIOD,
            "seconds": sizes.stream_seconds,
        }
        found = run_load(bench.children, bench.folder, "sse_load", spec)
        expected = sizes.streams / PERIOD * sizes.stream_seconds
        print(
            f"  {found['events']:,} of about {expected:,.0f} events, slowest {found['max_ms']:,.0f} ms; "
            f"the client used {found['cpu']:.0%} of a core",
            flush=True,
        )
        if found["lost"] or found["events"] < 0.8 * expected:
            raise BenchError(f"{found['lost']} streams lost, {found['events']} of about {expected:.0f} events arrived")
        return found["p50_ms"], found["p99_ms"]

    def measure_callboard(bench: Bench) -> dict[str, float]:
        settings = {
            "CALLBOARD_STREAMS_PER_KEY": str(4 * sizes.streams),
            "CALLBOARD_MAX_CONNECTIONS": str(4 * sizes.streams),
        }
        with open_board(bench.server, bench.children, **settings) as board:
            key = board.create_key("submitter", "acme")
            port = board.start_server()
            board.start_workers(processes=1, threads=sizes.stream_tasks + sizes.stream_tasks // 10)
            requests = Requests(port, key)

            def start(count: int, padding: int) -> list[str]:
                payloads = [
                    {"offset": PERIOD * number / count, "period": PERIOD, "padding": "x" * padding}
                    for number in range(count)
                ]
                return [f"/api/v1/tasks/{requests.submit('ticks', payload)}/stream" for payload in payloads]

            paths = start(sizes.stream_tasks, 0)
            usual = load(bench, port, paths, [], key)
            bench.results.add(frozen_p99.name, UNFROZEN, usual[1])
            large = start(max(1, sizes.stream_tasks // 10), LARGE)
            frozen = load(bench, port, paths, large, key)
            return named(usual, frozen)

    def measure_bare(bench: Bench) -> dict[str, float]:
        with bench.server.database("bench_bare") as url:
            return measure_reference(bench, url)

    def measure_reference(bench: Bench, url: str | None) -> dict[str, float]:
        with bare_sse(bench.children, bench.folder, sizes.stream_tasks, PERIOD, url) as port:
            paths = [f"/tasks/{number}/stream" for number in range(sizes.stream_tasks)]
            return named(load(bench, port, paths, []), load(bench, port, paths, paths))

    def named(usual: tuple[float, float], frozen: tuple[float, float]) -> dict[str, float]:
        return dict(zip([p50.name, p99.name, frozen_p50.name, frozen_p99.name], [*usual, *frozen], strict=True))

    metrics = (p50, p99, frozen_p50, frozen_p99)

    def run(bench: Bench) -> None:
        bench.alternate(
            {
                CALLBOARD: (metrics, partial(measure_callboard, bench)),
                BARE: (metrics, partial(measure_bare, bench)),
                UNSTORED: (metrics, partial(measure_reference, bench, None)),
            }
        )

    return Group("sse", "Server-sent events", (Measurement(metrics, run),))
