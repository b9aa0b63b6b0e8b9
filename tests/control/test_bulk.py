"""Actions on many tasks: what the preview says, what a step does, and what happens in between."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

import state
from state import EmptyFilter, NewTask, get_events, get_task, submit, submit_many
from state.access.caller import SYSTEM, Caller
from state.database import Connection
from state.tasks import bulk
from state.tasks.bulk import Action, Outcome, act_on_all, act_on_tasks
from state.transitions import STATUSES
from tests.support.builders import TaskBuilder
from tests.support.observer import Observer

pytestmark = pytest.mark.usefixtures("database_url", "simple_actors")

ACTIONS: tuple[Action, ...] = ("cancel", "pause", "resume", "retry", "dismiss")
MOVES: dict[Action, dict[str, str]] = {
    "cancel": dict.fromkeys(("scheduled", "queued", "waiting", "paused"), "canceled") | {"running": "stopping"},
    "pause": dict.fromkeys(("scheduled", "queued", "waiting"), "paused") | {"running": "stopping"},
    "resume": {"paused": "queued", "dead": "queued"},
    "retry": {"dead": "queued"},
    "dismiss": {"dead": "canceled"},
}


@pytest.fixture
def make_task(worker_connection: Connection, connection: Observer) -> TaskBuilder:
    return TaskBuilder(worker_connection, connection)


def tell(outcome: Outcome) -> dict[str, str]:
    return {group.status: group.becomes for group in outcome.groups}


def reasons(outcome: Outcome) -> dict[tuple[str, str | None], int]:
    return {(left.reason, left.status): left.tasks for left in outcome.skipped}


@pytest.mark.parametrize("by", ["ids", "filter"])
@pytest.mark.parametrize("action", ACTIONS)
def test_each_action_on_each_status(action: Action, by: str, make_task: TaskBuilder) -> None:
    tasks: dict[str, str] = {status: make_task(status).task_id for status in STATUSES}

    def act(**options: Any) -> Outcome:
        return (
            act_on_tasks(list(tasks.values()), action, **options)
            if by == "ids"
            else act_on_all(action, all=True, **options)
        )

    foreseen = act(dry_run=True)
    assert {status: get_task(task_id).status for status, task_id in tasks.items()} == {s: s for s in STATUSES}
    assert tell(foreseen) == MOVES[action]
    impossible = {("illegal-transition", status): 1 for status in STATUSES if status not in MOVES[action]}
    assert reasons(foreseen) == impossible
    done = act()
    assert (done.tasks, tell(done), done.failed, done.goes_on) == (len(MOVES[action]), MOVES[action], [], None)
    assert reasons(done) == (impossible if by == "ids" else {})
    for status, becomes in MOVES[action].items():
        task = get_task(tasks[status])
        if becomes == "stopping":
            assert task.cancel_requested == action
        else:
            assert task.status == becomes
        assert [event.n for event in get_events(task.task_id)] == list(range(1, task.last_event + 1))
    again = act()
    assert again.tasks == 0
    if "running" in MOVES[action]:
        assert reasons(again)["stopping", "running"] == 1


def test_one_verb_and_many_write_the_same_history(make_task: TaskBuilder) -> None:
    for action in ACTIONS:
        for status in MOVES[action]:
            one, many = make_task(status).task_id, make_task(status).task_id  # type: ignore[arg-type]
            caller = Caller("operator", name="Ada")
            getattr(state, action)(one, caller=caller)
            act_on_tasks([many], action, caller=caller)
            last = [get_events(its_id)[-1] for its_id in (one, many)]
            assert last[0].data["by"] == "Ada"
            assert (last[0].kind, last[0].data) == (last[1].kind, last[1].data), (action, status)


def test_a_retry_that_is_scheduled_runs_now_but_a_first_start_does_not(
    make_task: TaskBuilder, connection: Observer
) -> None:
    first = make_task("scheduled").task_id
    later = make_task("scheduled").task_id
    connection.execute("UPDATE callboard.tasks SET lane = 'retry' WHERE id = %s", [later])
    for by_ids in (True, False):
        dry = (
            act_on_tasks([first, later], "retry", dry_run=True)
            if by_ids
            else act_on_all("retry", all=True, dry_run=True)
        )
        assert (tell(dry), reasons(dry)) == ({"scheduled": "queued"}, {("illegal-transition", "scheduled"): 1})
    assert act_on_all("retry", all=True).tasks == 1
    assert (get_task(first).status, get_task(later).status) == ("scheduled", "queued")


def test_a_filter_is_needed() -> None:
    for filters in ({}, {"tenant": "acme"}, {"text": ' "" '}):
        with pytest.raises(EmptyFilter):
            act_on_all("cancel", **filters)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        act_on_all("cancel", colour="red")


def test_steps_and_their_preview(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "STEP", 40)
    old = submit_many([NewTask("quick", {"n": n}) for n in range(100)])
    submit("slow", {})
    preview = act_on_all("cancel", actor="quick", dry_run=True)
    assert ([tuple(group) for group in preview.groups], preview.goes_on) == (
        [("quick", "queued", "canceled", 100)],
        None,
    )
    late = submit("quick", {}).task_id  # it comes after the preview, and is left alone
    done, before = [], preview.begins
    while before is not None:
        step = act_on_all("cancel", actor="quick", before=before)
        done.append(step.tasks)
        before = step.goes_on
    assert done == [40, 40, 20]
    assert {get_task(each).status for each in old} == {"canceled"}
    assert get_task(late).status == "queued"


def test_a_preview_that_counts_not_all_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "PREVIEWED", 10)
    submit_many([NewTask("quick", {"n": n}) for n in range(11)])
    preview = act_on_all("cancel", actor="quick", dry_run=True)
    assert preview.tasks == 10
    assert preview.goes_on is not None


def test_words_are_a_filter(make_task: TaskBuilder) -> None:
    whale, shark = (make_task("queued", payload={"title": name}).task_id for name in ("whale", "shark"))
    assert act_on_all("cancel", text="whale", dry_run=True).tasks == 1
    assert act_on_all("cancel", text="whale").tasks == 1
    assert (get_task(whale).status, get_task(shark).status) == ("canceled", "queued")
    assert act_on_all("cancel", text=shark).tasks == 1


def test_a_task_that_changes_between_its_choice_and_the_action(
    make_task: TaskBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was queued; meanwhile it runs. Nobody has asked to stop running ones."""
    chosen, other = make_task("queued").task_id, make_task("queued").task_id
    find = bulk._find

    def find_and_start(*args: Any) -> Any:
        found = find(*args)
        monkeypatch.setattr(bulk, "_find", find)
        make_task._claim_only(chosen, "w1")
        return found

    monkeypatch.setattr(bulk, "_find", find_and_start)
    outcome = act_on_all("cancel", status="queued")
    assert (outcome.tasks, reasons(outcome)) == (1, {("changed", "running"): 1})
    assert (get_task(chosen).status, get_task(chosen).cancel_requested) == ("running", None)
    assert get_task(other).status == "canceled"


def test_other_tenants_tasks_do_not_exist(make_task: TaskBuilder) -> None:
    own = make_task("queued", tenant="acme").task_id
    foreign, none = make_task("queued", tenant="globex").task_id, make_task("queued").task_id
    caller = Caller("submitter", tenant="acme")
    for dry_run in (True, False):
        outcome = act_on_tasks([own, foreign, none, "tq_gone"], "cancel", dry_run=dry_run, caller=caller)
        assert (outcome.tasks, reasons(outcome)) == (1, {("not-found", None): 3})
    assert act_on_all("cancel", all=True, caller=caller).tasks == 0
    assert act_on_all("cancel", tenant="globex", actor="quick", caller=caller).tasks == 0
    assert (get_task(foreign).status, get_task(none).status) == ("queued", "queued")


def test_hidden_tasks_do_not_exist(make_task: TaskBuilder) -> None:
    dead = make_task("dead").task_id
    state.delete(dead)
    assert reasons(act_on_tasks([dead], "retry")) == {("not-found", None): 1}
    assert act_on_all("retry", all=True).tasks == 0


def test_held_dedup_keys_are_skipped_and_one_of_each_key_is_revived(make_task: TaskBuilder) -> None:
    def kill(key: str) -> str:
        return make_task("dead", dedup_key=key).task_id

    held, twins = kill("held"), [kill("twin"), kill("twin")]
    submit("quick", {}, dedup_key="held")
    for outcome in (
        act_on_tasks([held, *twins], "retry", dry_run=True),
        act_on_all("retry", status="dead", dry_run=True),
        act_on_tasks([held, *twins], "retry"),
    ):
        assert (outcome.tasks, reasons(outcome)) == (1, {("dedup-key-taken", "dead"): 2})
    assert [get_task(each).status for each in twins] == ["queued", "dead"]


def test_what_the_caller_may_not_run_stays(make_task: TaskBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = make_task("dead").task_id
    monkeypatch.setattr(bulk, "list_forbidden_work", lambda _: [{"actor": "quick"}])
    caller = Caller("submitter")
    for act in (
        lambda **options: act_on_tasks([dead], "retry", caller=caller, **options),
        lambda **options: act_on_all("retry", all=True, caller=caller, **options),
    ):
        for dry_run in (True, False):
            assert reasons(act(dry_run=dry_run)) == {("forbidden", "dead"): 1}
    assert get_task(dead).status == "dead"
    assert act_on_tasks([dead], "dismiss", caller=caller).tasks == 1  # it starts no work


def test_what_another_session_has_locked_fails_and_can_be_tried_again(
    make_task: TaskBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "PAUSES", (0.01,))
    locked, free = make_task("queued").task_id, make_task("queued").task_id
    with psycopg.connect(database_url) as other:
        other.execute("SELECT FROM callboard.tasks WHERE id = %s FOR UPDATE", [locked])
        outcome = act_on_tasks([locked, free], "cancel")
        assert (outcome.tasks, [tuple(left) for left in outcome.failed]) == (1, [("locked", None, 1, [locked])])
    assert act_on_tasks([locked, free], "cancel").tasks == 1


def test_two_at_once_do_each_task_once() -> None:
    ids = submit_many([NewTask("quick", {"n": n}) for n in range(400)])
    with ThreadPoolExecutor(4) as pool:
        acts: list[Callable[[], Outcome]] = [
            lambda: act_on_tasks(ids, "cancel"), lambda: act_on_all("cancel", actor="quick"),
            lambda: act_on_tasks(ids[::-1], "pause"), lambda: act_on_all("pause", status="queued"),
        ]  # fmt: skip
        outcomes = [future.result(60) for future in [pool.submit(act) for act in acts]]
    left = act_on_all("cancel", all=True)
    moves = Counter(event.data["to"] for each in ids for event in get_events(each) if event.n > 1)
    assert moves["canceled"] == 400
    assert sum(outcome.tasks for outcome in [*outcomes, left]) == moves.total()


def test_a_task_that_the_database_refuses_does_not_stop_the_others(
    make_task: TaskBuilder, connection: Observer
) -> None:
    ids = [make_task("queued").task_id for _ in range(7)]
    connection.execute(
        """CREATE FUNCTION callboard.refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END';
        CREATE TRIGGER refuse AFTER UPDATE ON callboard.tasks FOR EACH ROW
        WHEN (NEW.status = 'canceled' AND NEW.payload ? 'bad') EXECUTE FUNCTION callboard.refuse()"""
    )
    connection.execute("""UPDATE callboard.tasks SET payload = '{"bad": 1}' WHERE id = %s""", [ids[3]])
    outcome = act_on_tasks(ids, "cancel")
    assert (outcome.tasks, [tuple(left) for left in outcome.failed]) == (6, [("internal-error", None, 1, [ids[3]])])
    assert [get_task(each).status for each in ids] == ["canceled"] * 3 + ["queued"] + ["canceled"] * 3
    connection.execute("DROP TRIGGER refuse ON callboard.tasks")


def test_resumed_tasks_take_turns_with_those_of_other_tenants(make_task: TaskBuilder, connection: Observer) -> None:
    paused = [make_task("paused", tenant="acme").task_id for _ in range(5)]
    act_on_all("resume", tenant="acme", status="paused")
    ranks = connection.execute("SELECT rank FROM callboard.tasks WHERE id = ANY (%s) ORDER BY id", [paused]).fetchall()
    assert len({row["rank"] for row in ranks}) == 5
    assert [row["rank"] for row in ranks] == sorted(row["rank"] for row in ranks)


def test_too_many_ids() -> None:
    with pytest.raises(ValueError, match="at most"):
        act_on_tasks([f"tq_{n:032x}" for n in range(bulk.STEP + 1)], "cancel", caller=SYSTEM)
