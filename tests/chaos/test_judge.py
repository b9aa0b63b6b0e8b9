"""The judge of the storm finds each kind of wrong, and nothing in what is right."""

from pathlib import Path
from typing import Any

import pytest

from deploy.prove.executions import Call, Execution, Interval, Journals, LimitChange, build, load
from deploy.prove.history import Attempt, Clocks, History, TaskFacts, judge_history
from deploy.prove.journal import Journal, Record, saved_name
from deploy.prove.judge import Rules, allowed_at, judge
from deploy.prove.schedule import SAFE
from tests.chaos.storm.schedule import HARM, plan
from tests.chaos.storm.structures import Facts, judge_structures

RULES = Rules(lease=4)


def run(task: str, epoch: int, begin: float, end: float, **more: Any) -> Execution:
    return Execution(task, epoch, more.pop("process", "1.a"), begin, end, more.pop("how", "done"), **more)


def kinds(*runs: Execution, limits: tuple[LimitChange, ...] = (), **more: Any) -> list[str]:
    return [violation.kind for violation in judge(Journals(list(runs), list(limits)), RULES, **more)]


def test_executions_one_after_another_are_right() -> None:
    assert kinds(run("a", 1, 0, 1), run("a", 2, 1, 2), run("b", 1, 0, 9)) == []


def test_an_epoch_that_begins_twice_is_found_also_when_the_two_do_not_overlap() -> None:
    assert kinds(run("a", 1, 0, 1), run("a", 1, 5, 6)) == ["begun_twice"]
    assert sorted(kinds(run("a", 1, 0, 3), run("a", 1, 2, 6))) == ["begun_twice", "doubled"]


def test_an_epoch_that_begins_after_a_later_one_is_found() -> None:
    assert kinds(run("a", 2, 0, 1), run("a", 1, 2, 3)) == ["epochs_fallen"]


def test_two_executions_of_a_task_at_once_are_found() -> None:
    assert kinds(run("a", 1, 0, 3), run("a", 2, 2, 4)) == ["doubled"]


def test_one_that_was_stopped_past_its_lease_may_be_beside_its_successor() -> None:
    stopped = [Interval(1, 7)]
    assert kinds(run("a", 1, 0, 8, pauses=stopped), run("a", 2, 5.5, 9)) == []


def test_one_that_was_stopped_only_after_its_successor_began_is_found() -> None:
    assert kinds(run("a", 1, 0, 9, pauses=[Interval(2, 8)]), run("a", 2, 1, 3)) == ["doubled"]


def test_a_short_stop_is_no_excuse() -> None:
    assert kinds(run("a", 1, 0, 3, pauses=[Interval(1, 1.5)]), run("a", 2, 2, 4)) == ["doubled"]


def test_one_that_stays_too_long_after_it_went_on_is_found() -> None:
    assert kinds(run("a", 1, 0, 10.5, pauses=[Interval(1, 7)]), run("a", 2, 5.5, 9)) == ["outlived"]


def test_one_that_was_stopped_but_not_lost_may_stay() -> None:
    assert kinds(run("a", 1, 0, 20, pauses=[Interval(1, 3)])) == []


def test_a_call_that_succeeds_after_a_lost_execution_went_on_is_found() -> None:
    late = [Call("emit", 1, 7.1, "ok")]
    assert kinds(run("a", 1, 0, 8, pauses=[Interval(1, 7)], calls=late), lost={("a", 1): 5.1}) == ["late_call"]
    refused = [Call("emit", 1, 7.1, "LeaseLost")]
    assert kinds(run("a", 1, 0, 8, pauses=[Interval(1, 7)], calls=refused), lost={("a", 1): 5.1}) == []
    before = [Call("save", 1, 0.9, "ok")]
    assert kinds(run("a", 1, 0, 8, pauses=[Interval(1, 7)], calls=before), lost={("a", 1): 5.1}) == []


def test_one_that_was_stopped_between_its_claim_and_its_begin_counts_as_stopped() -> None:
    late = run("a", 1, 7.1, 7.5, pauses=[Interval(1, 7)])
    successor = run("a", 2, 5.5, 9, process="2.a")
    assert kinds(late, successor, claimed={("a", 1): 0.9}, lost={("a", 1): 5}) == []
    assert kinds(late, successor, lost={("a", 1): 5}) == ["epochs_fallen", "doubled", "taken_for_dead"]  # late


def test_one_that_is_given_up_while_it_runs_is_found() -> None:
    assert kinds(run("a", 1, 0, 8), lost={("a", 1): 5}) == ["taken_for_dead"]
    assert kinds(run("a", 1, 0, 4), lost={("a", 1): 5}) == []


LIMIT = LimitChange("g", 2, 0, 0)
CLAIMED = {("a", 1): 0.9, ("b", 1): 1.9, ("c", 1): 20.9}


def test_more_at_a_gate_than_its_limit_are_found() -> None:
    runs = [run(task, 1, begin, 30, gates=("g",)) for task, begin in (("a", 1), ("b", 2), ("c", 21))]
    assert kinds(*runs[:2], limits=(LIMIT,), claimed=CLAIMED) == []
    assert kinds(*runs, limits=(LIMIT,), claimed=CLAIMED) == ["over_limit"]
    assert kinds(*runs, limits=(LimitChange("g", None, 0, 0),), claimed=CLAIMED) == []
    assert kinds(*runs, limits=(LIMIT, LimitChange("g", 3, 10, 10.1)), claimed=CLAIMED) == []


def test_a_lowered_limit_counts_for_what_is_claimed_after_it() -> None:
    lowered = (LIMIT, LimitChange("g", 1, 10, 10.1))
    runs = [run(task, 1, begin, 30, gates=("g",)) for task, begin in (("a", 1), ("b", 2))]
    assert kinds(*runs, limits=lowered, claimed=CLAIMED) == []
    assert kinds(runs[0], run("c", 1, 21, 30, gates=("g",)), limits=lowered, claimed=CLAIMED) == ["over_limit"]


def test_what_a_claim_can_have_seen() -> None:
    changes = [LIMIT, LimitChange("g", 1, 10, 10.1), LimitChange("g", 5, 20, 20.1)]
    assert [allowed_at(changes, at) for at in (3, 10.05, 11, 19, 21)] == [2, 2, 1, 5, 5]
    assert allowed_at(changes, None) == 5


def test_slots_of_the_dead_and_of_the_stopped_are_free() -> None:
    one = (LimitChange("g", 1, 0, 0),)
    stopped = run("a", 1, 0, 8, gates=("g",), pauses=[Interval(1, 7)])
    assert kinds(stopped, run("b", 1, 6, 9, gates=("g",)), limits=one, lost={("a", 1): 5}) == []


def test_two_tasks_of_a_target_at_once_are_found() -> None:
    assert kinds(run("a", 1, 0, 3, target="t"), run("b", 1, 2, 4, target="t")) == ["targets_doubled"]
    assert kinds(run("a", 1, 0, 3, target="t"), run("b", 1, 2, 4, target="u"), run("c", 1, 3, 4, target="t")) == []


# From files.


def test_a_journal_is_read_as_it_was_written(tmp_path: Path) -> None:
    path, faults = tmp_path / "tasks", tmp_path / "faults"
    for epoch in (1, 2):
        record = Record(str(path), "a", epoch, ["g"], "t")
        record.begin()
        record.call("save", 1, 5.0, "ok")
        if epoch == 1:
            record.end("done")
            record.end("done again")
    Journal(faults).write("limit", gate="g", value=3, before=1.0, after=2.0)
    journals = load(path, faults)
    first, second = journals.executions
    assert (first.key, first.how, first.gates, first.target) == (("a", 1), "done", ("g",), "t")
    assert (second.how, second.end >= second.begin >= first.end) == (None, True)
    assert second.calls == [Call("save", 1, 5.0, "ok")]
    assert journals.limits == [LimitChange("g", 3, 1.0, 2.0)]


def test_an_execution_without_an_end_ended_with_its_process() -> None:
    begin = {
        "what": "begin",
        "task": "a",
        "epoch": 1,
        "run": "r",
        "process": "7.x",
        "at": 1.0,
        "gates": [],
        "target": None,
    }
    faults = [{"what": "stop", "at": 2.0, "pids": [7]}, {"what": "continue", "at": 6.0, "pids": [7]}]
    gap = {"what": "gap", "process": "7.x", "since": 2.0, "until": 6.1, "at": 6.1}
    [found] = build([gap, begin], {"7.x": 6.5, "8.x": 99}, faults)
    assert (found.end, found.how, found.pauses) == (6.5, None, [Interval(2.0, 6.0), Interval(2.0, 6.1)])


def test_times_of_the_database_are_those_of_the_journal_also_after_a_step() -> None:
    lines = [{"what": "clock", "since": 1000, "offset": -990}, {"what": "clock", "since": 1025, "offset": -1020}]
    history = History({"a": TaskFacts("completed", attempts={1: Attempt("lost", 1010, 1040)})})
    assert history.claimed(Clocks(lines)) == {("a", 1): 20}
    assert history.lost(Clocks(lines)) == {("a", 1): 20}


# What the database says.


def told(*lines: tuple[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(kind, {"to": data} if kind == "status" else {"epoch": data[0], "number": data[1]}) for kind, data in lines]


def facts(**changes: Any) -> TaskFacts:
    """A task whose first execution was lost and whose second one completed it."""
    events = told(("status", "running"), ("journal", (1, 1)), ("status", "queued"), ("status", "running"),
                  ("journal", (2, 1)), ("status", "completed"))  # fmt: skip
    right = TaskFacts(
        status="completed",
        epoch=2,
        tokens=1,
        checkpoint={saved_name(2, 1): 4.5},
        attempts={1: Attempt("lost", 0, 2), 2: Attempt("completed", 4, 5)},
        events=events,
    )
    for name, value in changes.items():
        setattr(right, name, value)
    return right


CALLS = [Call("emit", 1, 4.5, "ok"), Call("save", 1, 4.5, "ok"), Call("use", 1, 4.5, "ok")]
RUNS = [run("a", 1, 0, 1, how=None), run("a", 2, 4, 5, calls=CALLS)]


def wrong(found: TaskFacts, **more: Any) -> list[str]:
    history = History({"a": found}, more.pop("invariants", []))
    return [each.kind for each in judge_history(history, more.pop("runs", RUNS), more.pop("accepted", ["a"]), **more)]


def test_a_right_history() -> None:
    assert wrong(facts()) == []
    canceled = facts(status="canceled", attempts={1: Attempt("lost", 0, 2), 2: Attempt("canceled", 4, 5)})
    assert wrong(canceled, canceled=["a"]) == []


@pytest.mark.parametrize("status", ["queued", "running", "waiting", "paused", "dead"])
def test_a_task_that_has_not_ended_is_found(status: str) -> None:
    attempts = {1: Attempt("lost", 0, 2), 2: Attempt("released", 4, 5)}
    assert wrong(facts(status=status, attempts=attempts)) == ["unfinished"]


def test_a_task_that_was_accepted_and_is_gone_is_found() -> None:
    assert wrong(facts(), accepted=["a", "b"]) == ["unfinished"]


def test_a_dead_task_has_ended_where_the_code_may_fail() -> None:
    dead = facts(status="dead", attempts={1: Attempt("lost", 0, 2), 2: Attempt("failed", 4, 5)})
    assert wrong(dead, may_die=True) == []
    assert wrong(facts(status="queued", attempts=dead.attempts), may_die=True) == ["unfinished"]


def test_calls_of_code_that_does_not_note_them_are_not_compared() -> None:
    assert wrong(facts(tokens=9, checkpoint={}), notes_calls=False) == []


def test_a_gap_in_a_history_is_found() -> None:
    assert wrong(facts(gaps=[3])) == ["disagreement"]


def test_a_task_that_nobody_asked_to_cancel_is_found() -> None:
    attempts = {1: Attempt("lost", 0, 2), 2: Attempt("canceled", 4, 5)}
    assert wrong(facts(status="canceled", attempts=attempts)) == ["unfinished"]


def test_rows_in_invariants_are_found() -> None:
    assert wrong(facts(), invariants=["lease without its running task"]) == ["invariants"]


WRONG_FACTS = {
    "an execution without an attempt": {"attempts": {2: Attempt("completed", 4, 5)}},
    "completed twice": {"attempts": {1: Attempt("completed", 0, 2), 2: Attempt("completed", 4, 5)}},
    "completed without its code": {
        "epoch": 3,
        "attempts": {1: Attempt("lost", 0, 2), 2: Attempt("lost", 4, 5), 3: Attempt("completed", 6, 7)},
    },
    "a lost checkpoint": {"checkpoint": {}},
    "tokens counted twice": {"tokens": 2},
    "lost lines": {"events": told(*(("status", to) for to in ("running", "queued", "running", "completed")))},
}


@pytest.mark.parametrize("changes", WRONG_FACTS.values(), ids=WRONG_FACTS.keys())
def test_a_history_that_does_not_agree_with_the_journal_is_found(changes: dict[str, Any]) -> None:
    assert set(wrong(facts(**changes))) == {"disagreement"}


def test_a_line_of_an_earlier_execution_is_found() -> None:
    late = told(("status", "running"), ("status", "queued"), ("status", "running"), ("journal", (1, 1)),
                ("journal", (2, 1)), ("status", "completed"))  # fmt: skip
    assert wrong(facts(events=late)) == ["late_write"]
    after_the_end = told(("status", "running"), ("status", "queued"), ("status", "running"), ("status", "completed"),
                         ("journal", (2, 1)))  # fmt: skip
    assert wrong(facts(events=after_the_end)) == ["late_write"]


def test_a_line_that_is_told_twice_is_found() -> None:
    assert wrong(facts(events=[*facts().events[:5], *facts().events[4:]])) == ["late_write"]


# The plan.


def test_the_same_seed_plans_the_same_storm_with_every_fault() -> None:
    assert plan(7, 40) == plan(7, 40) != plan(8, 40)
    for seed in range(20):
        planned = {step.what for step in plan(seed, 40)}
        assert planned >= {
            *SAFE, *HARM, "fill_disk", "submit", "submit_late", "submit_http", "cancel", "cancel_race", "force",
            "pause", "resume", "set_limit", "redrive", "start_workflow", "start_project",
        }  # fmt: skip
    assert "fill_disk" not in {step.what for step in plan(7, 40, full_disk=False)}
    kills = ("kill_process", "kill_tree", "kill_server")
    many = [step.what for step in plan(7, 120, more_kills=True)]
    assert sum(what in kills for what in many) > 2 * sum(step.what in kills for step in plan(7, 120))


def test_a_step_that_begins_before_another_is_done_is_found() -> None:
    facts = Facts(after={"join": ["left", "right"]})
    left, right = run("left", 1, 0, 2), run("right", 1, 0, 3)
    assert judge_structures(facts, [left, right, run("join", 1, 3.1, 4)], RULES) == []
    for wrong in ([left, right, run("join", 1, 2.5, 4)], [left, run("join", 1, 3, 4)]):
        assert [violation.kind for violation in judge_structures(facts, wrong, RULES)] == ["out_of_order"]
    interrupted = run("right", 1, 0, 2, how="Stopped")
    assert judge_structures(facts, [left, interrupted, run("join", 1, 3.1, 4)], RULES) != []


def test_items_out_of_their_order_and_unfinished_structures_are_found() -> None:
    facts = Facts(places=[("p", 1, ["a"]), ("p", 2, ["b"]), ("q", 1, ["c"])])
    assert judge_structures(facts, [run("a", 1, 0, 1), run("b", 1, 1, 2), run("c", 1, 0.5, 3)], RULES) == []
    swapped = judge_structures(facts, [run("b", 1, 0, 1), run("a", 1, 1, 2)], RULES)
    assert [violation.kind for violation in swapped] == ["out_of_order"]
    assert [each.kind for each in judge_structures(Facts(unfinished=["a run is live"]), [], RULES)] == ["unfinished"]
