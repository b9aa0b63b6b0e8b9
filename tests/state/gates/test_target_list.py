"""The list of targets says which task the others wait for, as claims decide it."""

import random
from datetime import timedelta

import pytest

import state
from state.access.caller import Caller
from state.database import Connection, connect
from state.errors import StateError
from state.gates.waking import sweep_lines
from state.tasks.targets import Target, list_target_tasks, list_targets
from state.workers.leases import Settlement, settle
from tests.support.claims import BOOM, Claimer
from tests.support.clock import Clock
from tests.support.observer import Observer

OWNERS: list[tuple[str | None, str]] = [(None, "a"), (None, "a/b"), ("x", "a"), ("x", "ü"), ("x/y", "b"), ("z", "c")]


def start_all(take: Claimer) -> set[str]:
    """Claims until nothing more starts."""
    started: set[str] = set()
    for _ in range(3):
        started |= {task.id for task in take(100)}
        sweep_lines("")
    return started


@pytest.mark.parametrize("seed", range(6))
def test_claims_decide_the_same(seed: int, worker_connection: Connection, take: Claimer) -> None:
    """Tasks of several targets in random states: whatever starts then is what the list says, and nothing else."""
    chance = random.Random(seed)
    ids: list[str] = []
    verbs = [state.cancel, state.pause, state.resume, state.retry, state.dismiss, state.delete]
    for _ in range(80):
        tenant, target = chance.choice(OWNERS)
        delay = 3600.0 if chance.random() < 0.1 else None
        ids.append(state.submit("quick", {}, tenant=tenant, target=target, delay_seconds=delay).task_id)
        if chance.random() < 0.7:
            for claimed in take(chance.randint(1, 2)):
                completed = Settlement(claimed.id, claimed.epoch, "completed")
                failed = Settlement(claimed.id, claimed.epoch, "failed", error=BOOM)
                if end := chance.choice([completed, failed, None]):  # None: it goes on running
                    settle(worker_connection, "w1", [end])
        try:
            chance.choice(verbs)(chance.choice(ids))
        except StateError:
            continue  # not possible in this status
    listed = list_targets()
    assert {(each.tenant, each.target) for each in listed} <= set(OWNERS)
    assert [(each.tenant or "", each.target) for each in listed] == sorted(
        ((each.tenant or "", each.target) for each in listed), key=lambda pair: [part.encode() for part in pair]
    )
    for each in listed:
        check(each)
    ready = {each.task_id for each in listed if each.status in ("queued", "waiting")}
    assert start_all(take) == ready
    assert {each.task_id for each in list_targets() if each.status == "running"} >= ready


def check(listed: Target) -> None:
    """Compares with the tasks of the target, in the order of their arrival."""
    tasks = list_target_tasks(listed.target, tenant=listed.tenant, limit=500)
    running = [task for task in tasks if task.status == "running"]
    [holder] = running or tasks[:1]
    assert (listed.task_id, listed.status, listed.waiting) == (holder.task_id, holder.status, len(tasks) - 1)
    assert listed.blocked is (holder.status in ("paused", "dead"))


def test_who_blocks_and_since_when(
    take: Claimer, worker_connection: Connection, connection: Observer, clock: Clock
) -> None:
    first, second = (state.submit("quick", {}, target="t").task_id for _ in range(2))
    [claimed] = take(1)
    [target] = list_targets()
    assert (target.task_id, target.status, target.waiting, target.blocked) == (first, "running", 1, False)
    clock.advance(60)
    settle(worker_connection, "w1", [Settlement(claimed.id, claimed.epoch, "failed", error=BOOM)])
    connection.execute(
        "UPDATE callboard.tasks SET status = 'dead', finished_at = callboard.now() WHERE id = %s", [first]
    )
    clock.advance(60)
    [target] = list_targets()
    assert (target.task_id, target.status, target.blocked) == (first, "dead", True)
    dead_for = connection.fetch_one("SELECT callboard.now() AS now")["now"] - target.since
    assert timedelta(seconds=59) < dead_for < timedelta(seconds=90)
    assert (list_targets(blocked=False), [each.task_id for each in list_targets(blocked=True)]) == ([], [first])
    state.delete(first)  # a deleted one blocks nobody
    [target] = list_targets()
    assert (target.task_id, target.waiting, target.blocked) == (second, 0, False)
    assert [task.task_id for task in list_target_tasks("t")] == [second]
    state.pause(second)
    assert [each.blocked for each in list_targets()] == [True]
    state.cancel(second)
    assert list_targets() == []


def test_pages_and_tenants() -> None:
    for tenant, target in OWNERS:
        state.submit("quick", {}, tenant=tenant, target=target)
    everything = [(each.tenant, each.target) for each in list_targets()]
    assert sorted(everything, key=str) == sorted(OWNERS, key=str)
    for tenant in (None, "x"):
        expected = [pair for pair in everything if tenant in (None, pair[0])]
        found: list[tuple[str | None, str]] = []
        while page := list_targets(tenant=tenant, after=found[-1] if found else None, limit=1):
            found += [(each.tenant, each.target) for each in page]
        assert found == expected
        assert [(each.tenant, each.target) for each in list_targets(caller=Caller("reader", "x"), tenant=tenant)] == [
            pair for pair in everything if pair[0] == "x"
        ]
    assert [(each.tenant, each.target) for each in list_targets(q="A")] == [(None, "a"), (None, "a/b"), ("x", "a")]
    assert list_targets(caller=Caller("reader", "x"), tenant="z") == []
    assert list_targets(caller=Caller("reader", "x"), after=("z", "")) == []


def test_a_page_looks_at_no_more_targets_than_it_has(connection: Observer) -> None:
    state.submit_many([state.NewTask("quick", {}, target=f"t{n:04}") for n in range(2000)])
    connection.execute("ANALYZE callboard.tasks")
    with connect("look") as own:
        own.execute("SET track_functions = 'none'")
        before = connection.fetch_one(READ)["rows"]
        assert len(own.fetch("targets", PAGE)) == 10
        own.execute("SELECT pg_stat_force_next_flush()")
    after = connection.fetch_one(READ)["rows"]
    assert after - before < 200


def test_a_page_keeps_the_order_with_a_plan_for_any_page(connection: Observer) -> None:
    """After some calls, Postgres plans a prepared statement for unknown parameters, and with the statistics of then."""
    names = [f"t{n:03}" for n in range(60)]
    with connect("look") as own:
        own.execute("SET plan_cache_mode = force_generic_plan")
        assert own.fetch("targets", PAGE | {"blocked": False}) == []
        state.submit_many([state.NewTask("quick", {}, target=name) for name in reversed(names)])
        listed = [each["target"] for each in own.fetch("targets", PAGE | {"blocked": False})]
    assert listed == names[:10]


PAGE = {
    "after_owner": "",
    "after_target": "",
    "last_owner": "\U0010ffff",
    "q": "",
    "blocked": None,
    "limit": 10,
    "scope": None,
}
READ = (
    "SELECT pg_stat_clear_snapshot(), "
    "(SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_user_tables WHERE relname = 'tasks') AS rows"
)
