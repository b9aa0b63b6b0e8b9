"""Rows, bars and the lines that programs read: their form, and which way the ratios go."""

import json

from tests.bench.groups.registry import GROUPS
from tests.bench.groups.sizes import QUICK, Sizes
from tests.bench.peers.roster import MAKERS, base_of
from tests.bench.results.metric import BEST, Metric
from tests.bench.results.report import Report, lines, number
from tests.bench.results.results import Results
from tests.bench.results.row import CALLBOARD, Row, make_rows

RATE = Metric("drain", "drain", "1/s", True, {"pgqueuer": 1.3, "oban": 2.5})
DELAY = Metric("start_p50", "submit to start", "ms", bars={BEST: 1.0})
LEVEL = Metric("memory", "memory", "MB", limit=80.0)


def rows(metric: Metric, **contenders: list[float]) -> list[Row]:
    results = Results()
    for contender, values in contenders.items():
        for value in values:
            results.add(metric.name, contender, value)
    return list(make_rows("group", [metric], results))


def test_rates_compare_upwards_turn_by_turn() -> None:
    found = rows(RATE, callboard=[4000, 6000, 5000], pgqueuer=[500, 600, 250], oban=[527])
    assert list(lines(found)) == [
        "bench drain callboard=5000 pgqueuer=500 ratio=10.00",
        "bench drain callboard=5000 oban=527 ratio=9.49",
    ]


def test_delays_compare_downwards() -> None:
    found = rows(DELAY, callboard=[2.0], oban=[3.5])
    assert list(lines(found)) == ["bench start_p50 callboard=2.00 oban=3.50 ratio=1.75"]


def test_a_limit_is_an_opponent_too() -> None:
    assert list(lines(rows(LEVEL, callboard=[64.0]))) == ["bench memory callboard=64.0 limit=80.0 ratio=1.25"]


def test_a_ratio_below_its_bar_is_missed() -> None:
    (row,) = rows(RATE, callboard=[1200], pgqueuer=[1000], oban=[400])
    assert list(row.missed()) == ["drain: 1.20 x pgqueuer, must be 1.30"]


def test_a_peer_without_a_bar_cannot_be_missed() -> None:
    (row,) = rows(RATE, callboard=[1], celery=[1000])
    assert list(row.missed()) == []


def test_the_best_peer_is_the_bar() -> None:
    (row,) = rows(DELAY, callboard=[3.0], slow=[9.0], quick=[2.0])
    assert list(row.missed()) == ["start_p50: 0.67 x quick, must be 1.00"]


def test_a_limit_is_kept_or_missed() -> None:
    (kept,) = rows(LEVEL, callboard=[80.0])
    (missed,) = rows(LEVEL, callboard=[100.0])
    assert list(kept.missed()) == []
    assert list(missed.missed()) == ["memory: 0.80 x limit, must be 1.00"]
    (low,) = rows(Metric("http_list", "list", "1/s", True, limit=200.0), callboard=[100.0])
    assert list(low.missed()) == ["http_list: 0.50 x limit, must be 1.00"]


def test_failures_are_lines_and_the_rest_stays() -> None:
    results = Results()
    results.add("drain", CALLBOARD, 5000.0)
    results.fail("drain", "pgqueuer", "stalled after 3 started\nits log")
    results.skip("drain", "oban", "needs Python 3.12")
    (row,) = make_rows("drain", [RATE], results)
    assert list(lines([row])) == [
        "bench drain callboard=5000",
        "bench drain pgqueuer failed: stalled after 3 started",
        "bench drain oban skipped: needs Python 3.12",
    ]
    assert list(row.missed()) == []


def test_a_failure_of_callboard_misses_its_bars() -> None:
    results = Results()
    results.fail("drain", CALLBOARD, "a worker ended by itself")
    (row,) = make_rows("drain", [RATE], results)
    assert list(row.missed()) == ["drain: callboard failed: a worker ended by itself"]


def test_a_turn_that_failed_once_keeps_the_others() -> None:
    results = Results()
    for value in (100.0, 300.0):
        results.add("drain", CALLBOARD, value)
    results.add("drain", "pgqueuer", 100.0)
    results.fail("drain", "pgqueuer", "once")
    (row,) = make_rows("drain", [RATE], results)
    assert row.ratios == {"pgqueuer": 2.0}
    assert row.failed == {}


def test_reports_survive_json() -> None:
    report = Report({"date": "today"}, rows(RATE, callboard=[1.0, 2.0], pgqueuer=[1.0, 1.0]))
    text = json.dumps(report.as_json())
    again = Report.from_json(json.loads(text))
    assert json.dumps(again.as_json()) == text
    assert again.missed() == report.missed()


def test_numbers_keep_three_digits() -> None:
    assert [number(value) for value in (12345.6, 99.94, 1.234)] == ["12346", "99.9", "1.23"]


def test_bars_name_contenders_that_exist() -> None:
    references = {BEST, "bare", "callboard_unfrozen", "callboard_without"}
    for sizes in (Sizes(), QUICK):
        names = set()
        for make in GROUPS.values():
            for metric in make(sizes).metrics:
                claimed = {f"callboard_{sizes.claim[0]}"}
                unknown = {base_of(peer) for peer in metric.bars} - {*MAKERS, *references, *claimed}
                assert not unknown, metric.name
                assert metric.name not in names
                names.add(metric.name)


def test_the_bars_of_the_specification_are_there() -> None:
    """Drains, async tasks, submits, waits, HTTP, streams, idle, history: what must hold, as it was agreed."""
    metrics = {metric.name: metric for make in GROUPS.values() for metric in make(Sizes()).metrics}
    bars = {name: metric.bars for name, metric in metrics.items()}
    limits = {name: metric.limit for name, metric in metrics.items() if metric.limit is not None}
    assert bars["drain"].items() >= {"pgqueuer": 1.3, "dramatiq-redis": 1.5, "oban": 2.5}.items()
    assert bars["drain_large"] == {"pgqueuer": 1.2}
    assert bars["async_drain"] == {"pgqueuer-100": 0.5, "oban-100": 1.5}
    assert bars["submit_single"]["pgqueuer"] == 1.1
    assert bars["submit_batch"]["pgqueuer"] == 0.6
    assert bars["start_p50"] == bars["start_p99"] == {BEST: 1.0}
    assert bars["http_post"] == bars["http_get"] == {"bare": 0.5}
    assert bars["sse_p99"] == {"bare": 1 / 1.5}
    assert limits == {
        "async_waits": 8.0,
        "async_memory": 150.0,
        "memory": 80.0,
        "http_list": 200.0,
        "sse_p99": 250.0,
        "sse_frozen_p99": 250.0,
        "idle": 4.0,
        "idle_further": 0.6,
        "history_slowest": 100.0,
        "history_ratio": 3.0,
        "history_single": 2.0,
    }
