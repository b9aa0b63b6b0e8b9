"""Tenants take turns, whatever they have queued and however often they come back."""

from collections import Counter
from collections.abc import Callable

import pytest

from state import NewTask, redrive, submit, submit_many
from state.tasks import deadletters
from state.workers.leases import Claimed
from tests.support.observer import Observer

Take = Callable[..., list[Claimed]]


def test_a_tenants_burst_delays_another_tenants_task_by_one_task(take: Take) -> None:
    submit_many([NewTask("quick", {}, tenant="big") for _ in range(10_000)])
    take(3)
    single = submit("quick", {}, tenant="small").task_id
    assert single in [task.id for task in take(2)]


def test_tenants_take_turns(take: Take) -> None:
    submit_many([NewTask("quick", {}, tenant=tenant) for tenant in ("a", "b", "c") for _ in range(20)])
    tenants = [task.tenant for task in take(12)]
    assert {tenant: tenants.count(tenant) for tenant in "abc"} == {"a": 4, "b": 4, "c": 4}


@pytest.mark.parametrize("threads", [1, 4])
def test_a_backlog_gets_its_share_beside_tenants_that_come_back_again_and_again(take: Take, threads: int) -> None:
    """They submit their next task as soon as their last one has started, so they have nothing queued then."""
    submit_many([NewTask("quick", {}, tenant="backlog") for _ in range(200)])
    newcomers = [f"newcomer {number}" for number in range(5)]
    for tenant in newcomers:
        submit("quick", {}, tenant=tenant)
    started: Counter[str | None] = Counter()
    while started.total() < 240:
        for task in take(threads):
            started[task.tenant] += 1
            if task.tenant in newcomers:
                submit("quick", {}, tenant=task.tenant)
    shares = {tenant: started[tenant] / started.total() for tenant in ["backlog", *newcomers]}
    assert all(0.1 < share < 0.3 for share in shares.values()), shares


def test_a_backlog_goes_on_while_ever_new_tenants_arrive(take: Take) -> None:
    """As many arrive as are started, so the rounds grow; each has a turn of the backlog all the same."""
    submit_many([NewTask("quick", {}, tenant="backlog") for _ in range(50)])
    started: list[str | None] = []
    for number in range(100):
        submit("quick", {}, tenant=f"tenant {number}")
        started += [task.tenant for task in take(1)]
    assert started.count("backlog") >= 10


@pytest.mark.parametrize("batch", [7, 500], ids=["several batches", "one batch"])
def test_dead_letters_that_are_redriven_together_take_turns(
    take: Take, connection: Observer, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(deadletters, "BATCH", batch)
    submit_many([NewTask("quick", {}, tenant=tenant) for tenant in ("a", None, "c") for _ in range(20)])
    connection.execute("UPDATE callboard.tasks SET status = 'dead', finished_at = callboard.now()")
    assert redrive(all=True).tasks == 60
    first = Counter(task.tenant for task in take(30))
    assert all(8 <= first[tenant] <= 12 for tenant in ("a", None, "c")), first
    assert len(take(30)) == 30


def test_redriven_tasks_of_a_tenant_keep_their_order(take: Take, connection: Observer) -> None:
    ids = submit_many([NewTask("quick", {}, tenant="a") for _ in range(20)])
    connection.execute("UPDATE callboard.tasks SET status = 'dead', finished_at = callboard.now()")
    redrive(all=True)
    ranks = connection.execute("SELECT count(DISTINCT rank) AS n FROM callboard.tasks").fetchone()
    assert ranks == {"n": 20}
    assert [task.id for task in take(20)] == ids
