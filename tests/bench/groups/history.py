"""Every filter of the list of tasks, and every pair, beside a long history and without it; and what is asked of one
task."""

import statistics
from urllib.parse import urlencode

import psycopg

from tests.bench.groups.group import Group, Measurement
from tests.bench.groups.past import TENANT, Case, insert_past, make_cases
from tests.bench.groups.sizes import Sizes
from tests.bench.harness.bench import Bench
from tests.bench.harness.board import open_board
from tests.bench.harness.errors import BenchError
from tests.bench.harness.requests import Requests
from tests.bench.peers.roster import CALLBOARD
from tests.bench.results.metric import Metric

PAST = 1_000  # finished tasks that are there in any case
PAST_ID = f"tq_{7:032}"  # a task of the past
NOT_FILTERS = {"limit", "cursor", "text"}  # a search for words looks at some tasks and says how far it came
WITHOUT = f"{CALLBOARD}_without"


def group(sizes: Sizes) -> Group:
    beside = f"beside {sizes.history:,} finished tasks"
    slowest = Metric("history_slowest", f"lists {beside}: the slowest", "ms", limit=100.0)
    middle = Metric("history_median", f"lists {beside}: the median", "ms", bars={WITHOUT: 1 / 3})
    single = Metric(
        "history_single", f"one task beside {sizes.history:,} finished ones: the worst ratio", "x", limit=2.0
    )
    ratio = Metric("history_ratio", f"lists {beside}: the worst ratio to the same without them", "x", limit=3.0)

    def measure(bench: Bench) -> dict[str, float]:
        with open_board(bench.server, bench.children) as board:
            keys = {False: board.create_key("operator"), True: board.create_key("reader", TENANT)}
            port = board.start_server()
            callers = {tenant: Requests(port, key) for tenant, key in keys.items()}
            model = callers[False].submit("note", {"index": 0})
            cases = list(make_cases(find_filters(callers[False])))
            with psycopg.connect(board.database_url, autocommit=True) as connection:
                insert_past(connection, model, 0, PAST)
                connection.execute("vacuum (analyze)")
                without = [ask(callers, case, sizes.history_calls) for case in cases]
                alone = ask_single(callers[False], sizes.history_calls)
                insert_past(connection, model, PAST, sizes.history)
                connection.execute("vacuum (analyze)")
                connection.execute("checkpoint")
            found = [ask(callers, case, sizes.history_calls) for case in cases]
            beside_past = ask_single(callers[False], sizes.history_calls)
        ratios = [after / before for after, before in zip(found, without, strict=True)]
        worst, longest = ratios.index(max(ratios)), found.index(max(found))
        bench.results.add(middle.name, WITHOUT, statistics.median(without))
        bench.results.notes[ratio.name] = f"{len(cases)} cases; the worst: {cases[worst]}"
        bench.results.notes[slowest.name] = f"{cases[longest]}"
        beyond = sum(each > 3 for each in ratios)
        bench.results.notes[middle.name] = f"{beyond} of {len(cases)} cases take over 3 times as long"
        shown = [f"{name} {alone[name]:.1f}, then {beside_past[name]:.1f} ms" for name in alone]
        bench.results.notes[single.name] = "; ".join(shown)
        worst_single = max(beside_past[name] / alone[name] for name in alone)
        return {
            single.name: worst_single,
            slowest.name: max(found),
            middle.name: statistics.median(found),
            ratio.name: max(ratios),
        }

    metrics = (slowest, middle, ratio, single)

    def run(bench: Bench) -> None:
        bench.alternate({CALLBOARD: (metrics, lambda: measure(bench))})

    return Group("history", "Lists beside history", (Measurement(metrics, run, once=True),))


def find_filters(requests: Requests) -> list[str]:
    """All that GET /tasks has, also those that came after this was written: a filter without a case is an error."""
    document = requests.ask("GET", "/openapi.json")
    parameters = document["paths"]["/api/v1/tasks"]["get"]["parameters"]
    names = [each["name"] for each in parameters if each["in"] == "query" and each["name"] not in NOT_FILTERS]
    covered = {name for case in make_cases(names) for name in case.filters}
    if missing := set(names) - covered:
        raise BenchError(f"groups/past.py has no values for the filters {', '.join(sorted(missing))}")
    return names


def ask(callers: dict[bool, Requests], case: Case, calls: int) -> float:
    """Milliseconds, the lower quartile of some calls: of hundreds of cases, one meets a hiccup of the machine."""
    path = f"/api/v1/tasks?{urlencode({'limit': '50', **case.filters})}"
    times = []
    for _ in range(calls):
        page, seconds = callers[case.tenant_key].timed("GET", path)
        if bool(page["items"]) != case.matches:
            raise BenchError(f"the list of {case} should have had {'some' if case.matches else 'no'} tasks")
        times.append(seconds * 1000)
    return sorted(times)[len(times) // 4]


def ask_single(requests: Requests, calls: int) -> dict[str, float]:
    """Milliseconds, likewise: to submit a task, and to read an old one in every way."""
    old = f"/api/v1/tasks/{PAST_ID}"
    asked = {
        "submit": ("POST", "/api/v1/tasks", {"actor": "note", "payload": {"index": 0}}),
        "status": ("GET", old, None),
        "events": ("GET", f"{old}/events", None),
        "attempts": ("GET", f"{old}/attempts", None),
        "stream": ("GET", f"{old}/stream?after=0", None),
    }
    found = {}
    for name, (method, path, body) in asked.items():
        times = sorted(requests.timed_bytes(method, path, body)[1] * 1000 for _ in range(4 * calls))
        found[name] = times[len(times) // 4]
    return found
