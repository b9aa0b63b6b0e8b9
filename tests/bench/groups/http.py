"""The HTTP API at 16 connections with API keys on, beside a bare Starlette app on the same Postgres."""

from collections.abc import Sequence
from typing import Any

from tests.bench.groups.group import Group, Measurement
from tests.bench.groups.sizes import Sizes
from tests.bench.harness.bench import Bench
from tests.bench.harness.board import open_board
from tests.bench.harness.errors import BenchError
from tests.bench.harness.requests import Requests
from tests.bench.peers.roster import CALLBOARD
from tests.bench.references.running import bare_http, run_load
from tests.bench.results.metric import Metric

BARE = "bare"
CONNECTIONS = 16
PATH = "/api/v1/tasks"
BODY = {"actor": "note", "payload": {"index": 1, "sent": 0.0}}


def group(sizes: Sizes) -> Group:
    post = Metric("http_post", f"POST /tasks, {CONNECTIONS} connections", "1/s", True, {BARE: 0.5})
    get = Metric("http_get", f"GET /tasks/{{id}}, {CONNECTIONS} connections", "1/s", True, {BARE: 0.5})
    page = Metric("http_list", f"GET /tasks?limit=50, {CONNECTIONS} connections", "1/s", True, limit=200.0)

    def load(bench: Bench, port: int, method: str, paths: Sequence[str], key: str = "") -> float:
        spec: dict[str, Any] = {
            "port": port,
            "connections": CONNECTIONS,
            "seconds": sizes.http_seconds,
            "warm_seconds": min(1.0, sizes.http_seconds / 2),
            "method": method,
            "paths": list(paths),
            "headers": {"Authorization": f"Bearer {key}"} if key else {},
            "body": BODY if method == "POST" else None,
        }
        found = run_load(bench.children, bench.folder, "http_load", spec)
        if wrong := {status: count for status, count in found["statuses"].items() if not status.startswith("2")}:
            raise BenchError(f"answers to {method} {paths[0]}: {wrong}")
        print(
            f"  {method} {paths[0]}: p50 {found['p50_ms']:.1f} ms, p99 {found['p99_ms']:.1f} ms; the client used "
            f"{found['cpu']:.0%} of a core",
            flush=True,
        )
        return float(found["rate"])

    def measure_callboard(bench: Bench) -> dict[str, float]:
        with open_board(bench.server, bench.children) as board:
            key = board.create_key("submitter", "acme")
            port = board.start_server()
            requests = Requests(port, key)
            ids = [requests.submit(**BODY) for _ in range(sizes.http_rows)]  # type: ignore[arg-type]
            return {
                get.name: load(bench, port, "GET", [f"{PATH}/{task_id}" for task_id in ids], key),
                page.name: load(bench, port, "GET", [f"{PATH}?limit=50"], key),
                post.name: load(bench, port, "POST", [PATH], key),
            }

    def measure_bare(bench: Bench) -> dict[str, float]:
        with bench.server.database("bench_bare") as url, bare_http(bench.children, bench.folder, url) as port:
            requests = Requests(port, "none")
            ids = [requests.submit(**BODY) for _ in range(sizes.http_rows)]  # type: ignore[arg-type]
            return {
                get.name: load(bench, port, "GET", [f"{PATH}/{task_id}" for task_id in ids]),
                post.name: load(bench, port, "POST", [PATH]),
            }

    def run(bench: Bench) -> None:
        bench.alternate(
            {
                CALLBOARD: ((get, page, post), lambda: measure_callboard(bench)),
                BARE: ((get, post), lambda: measure_bare(bench)),
            }
        )

    return Group("http", "HTTP", (Measurement((post, get, page), run),))
