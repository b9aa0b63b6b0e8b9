"""The judge of streams and webhooks, the times until a task ran again, and the figures of a run."""

from collections import Counter
from typing import Any

import pytest

from deploy.prove.executions import Execution, Interval
from deploy.prove.history import TaskFacts
from deploy.prove.judge import Rules, Violation
from deploy.prove.readers import Story
from deploy.prove.receiver import Delivery
from deploy.prove.recovery import Recovery, measure_recoveries, percentile
from deploy.prove.verdict import KINDS, Verdict
from deploy.prove.watching import count_repeated, judge_deliveries, judge_streams

HISTORY: list[tuple[str, dict[str, Any]]] = [("status", {}), ("progress", {}), ("status", {})]
TASKS = {"a": TaskFacts("completed", events=HISTORY, announced=[1, 3])}
ALL = [(1, "status"), (2, "progress"), (3, "status")]


def find_in_stream(events: list[tuple[int, str]], **more: Any) -> bool:
    story = Story(more.pop("task", "a"), more.pop("position", 0), events, more.pop("last", 3))
    return bool(judge_streams([story], TASKS))


def test_readers_that_got_everything_once() -> None:
    assert not find_in_stream(ALL)
    assert not find_in_stream(ALL[1:], position=1)
    assert not find_in_stream(ALL[:2], last=2)  # `done` was sent of a task that was revived later


WRONG_STREAMS: dict[str, tuple[list[tuple[int, str]], dict[str, Any]]] = {
    "an event that is missing": ([ALL[0], ALL[2]], {}),
    "the last one is missing": (ALL[:2], {}),
    "an event that came twice": ([ALL[0], *ALL], {}),
    "another order": ([ALL[1], ALL[0], ALL[2]], {}),
    "another kind": ([*ALL[:2], (3, "progress")], {}),
    "an event before the snapshot": (ALL, {"position": 1}),
    "no end": (ALL, {"last": None}),
    "no snapshot": ([], {"position": None}),
    "an end beyond the history": (ALL, {"last": 4}),
    "no such task": (ALL, {"task": "b"}),
}


@pytest.mark.parametrize(("events", "more"), WRONG_STREAMS.values(), ids=WRONG_STREAMS.keys())
def test_a_reader_that_missed_something_is_found(events: list[tuple[int, str]], more: dict[str, Any]) -> None:
    assert find_in_stream(list(events), **more)


FIRST, SECOND = Delivery("a_1", "a", 1, "x"), Delivery("a_3", "a", 3, "y")


def test_a_webhook_may_come_again_as_it_was() -> None:
    assert judge_deliveries([FIRST, SECOND, FIRST], TASKS) == []
    assert count_repeated([FIRST, SECOND, FIRST]) == 1


WRONG_DELIVERIES = {
    "one is missing": [FIRST],
    "one that was not announced": [FIRST, SECOND, Delivery("a_2", "a", 2, "z")],
    "one that has changed": [FIRST, SECOND, Delivery("a_1", "a", 1, "z")],
    "one under the id of another": [FIRST, SECOND, Delivery("a_1", "a", 3, "x")],
}


@pytest.mark.parametrize("deliveries", WRONG_DELIVERIES.values(), ids=WRONG_DELIVERIES.keys())
def test_a_webhook_that_is_wrong_is_found(deliveries: list[Delivery]) -> None:
    assert {violation.kind for violation in judge_deliveries(deliveries, TASKS)} == {"missed_events"}


def test_the_time_until_a_task_ran_again() -> None:
    killed = Execution("a", 1, "1.a", 0, 5)
    again = Execution("a", 2, "2.a", 7, 8, "done")
    stopped = Execution("b", 1, "1.a", 0, 9, "LeaseLost", pauses=[Interval(1, 8)])
    beside = Execution("b", 2, "2.a", 6, 7, "done")
    retried = [Execution("c", 1, "1.a", 0, 1, "Refused"), Execution("c", 2, "1.a", 9, 10, "done")]
    lost = {("a", 1): 5.5, ("b", 1): 5.0}
    found = measure_recoveries([killed, again, stopped, beside, *retried], Rules(lease=4), lost)
    assert [(each.noticed, each.seconds) for each in found] == [(0.5, 2), (4, 5)]
    assert "a epoch 1" in found[0].what
    assert [percentile([3, 1, 2], share) for share in (0.5, 0.99, 1)] == [2, 3, 3]


def test_the_figures_of_several_runs() -> None:
    first = Verdict(
        [7], Counter(kill_tree=2), Counter(cancel=1), Counter(accepted=10, kills=2), [Recovery(0.5, 1, "a")]
    )
    second = Verdict([8], Counter(kill_tree=1), Counter(), Counter(accepted=5, kills=1), [Recovery(2, 3, "b")])
    second.violations = [Violation(kinds[0], "x") for group, kinds in KINDS.items() if group != "other"]
    total = first.add(second)
    assert total.summary() == "faults 4 accepted 15 lost 1 doubled 1 over_limit 1 missed_events 1"
    assert "kill tree                       3" in total.table()
    assert "queued last: b" in total.table()
    assert "until the task was queued: p50 0.5 s, p99 2.0 s, max 2.0 s" in total.table()
    assert "until the task ran again: p50 1.0 s, p99 3.0 s, max 3.0 s" in total.table()
