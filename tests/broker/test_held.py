"""HeldTasks: in whatever order its threads act, an execution starts once and ends once."""

import random
import threading
from collections import Counter
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from broker.execution.execution import MOVES, Execution, IllegalMove, State
from broker.execution.held import HeldTasks
from broker.execution.outcomes import completed
from state.errors import LeaseLost
from state.workers.leases import Claimed

FOREVER = 1e12
STATES = tuple(MOVES)


def claimed(task_id: str, epoch: int) -> Claimed:
    return Claimed(
        id=task_id, epoch=epoch, actor="quick", queue="one", lane="primary", attempt=1, attempts_before=0,
        max_attempts=3, payload={}, checkpoint={}, tokens=0, cost=Decimal(0), tenant=None, gates=[],
    )  # fmt: skip


@pytest.mark.parametrize("before", STATES)
@pytest.mark.parametrize("after", STATES)
def test_an_execution_makes_only_the_moves_of_the_table(before: State, after: State) -> None:
    execution = Execution(claimed("t", 1))
    execution.state = before
    if after in MOVES[before]:
        execution.move(after)
        assert execution.state == after
    else:
        with pytest.raises(IllegalMove):
            execution.move(after)


class Threads(RuleBasedStateMachine):
    """One process with a few threads: claims, starts, ends, losses and returns, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.delivered: list[Execution] = []  # Dramatiq's queue: messages stay in it until a thread takes them
        self.held = HeldTasks("w", 3, self.delivered.append)
        self.epochs: Counter[str] = Counter()
        self.free: set[str] = {f"t{n}" for n in range(6)}  # queued, as the database sees it
        self.claims = 0
        self.starts: Counter[tuple[str, int]] = Counter()
        self.ended: Counter[tuple[str, int]] = Counter()  # ends that were given out to be written
        self.lost: set[tuple[str, int]] = set()
        self.in_threads: list[Execution] = []

    def _any(self, executions: list[Execution], data: st.DataObject) -> Execution:
        return executions[data.draw(st.integers(0, len(executions) - 1))]

    @precondition(lambda self: self.free)
    @rule(count=st.integers(1, 4), lasts=st.booleans())
    def claim(self, count: int, lasts: bool) -> None:
        taken = sorted(self.free)[:count]
        self.free -= set(taken)
        self.claims += 1
        for each in taken:
            self.epochs[each] += 1
        self.held.add([claimed(each, self.epochs[each]) for each in taken], self.claims, FOREVER if lasts else 0.0)

    @precondition(lambda self: self.delivered)
    @rule(data=st.data())
    def take_message(self, data: st.DataObject) -> None:
        message = self._any(self.delivered, data)
        self.delivered.remove(message)
        execution = self.held.start(*message.key, time_limit=60)
        if execution is not None:
            self.starts[execution.key] += 1
            self.in_threads.append(execution)

    @precondition(lambda self: self.starts)
    @rule(data=st.data())
    def take_a_message_again(self, data: st.DataObject) -> None:
        key = sorted(self.starts)[data.draw(st.integers(0, len(self.starts) - 1))]
        assert self.held.start(*key, time_limit=60) is None

    @precondition(lambda self: self.in_threads)
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        execution = self._any(self.in_threads, data)
        self.in_threads.remove(execution)
        ours = execution.state == "running"
        assert self.held.end(execution, completed(execution.claimed, None)) == ours

    @precondition(lambda self: self.in_threads)
    @rule(data=st.data(), commits=st.booleans())
    def complete_in_a_transaction(self, data: st.DataObject, commits: bool) -> None:
        execution = self._any(self.in_threads, data)
        try:
            self.held.begin_own_end(execution)
        except LeaseLost:
            assert execution.state != "running"
            return
        if commits:
            self.ended[execution.key] += 1
            self.free.add(execution.claimed.id)
        else:
            self.held.cancel_own_end(execution)
            assert execution.state == "running"

    @precondition(lambda self: self.held.executions())
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        execution = self._any(self.held.executions(), data)
        not_started = execution.state == "claimed"
        assert self.held.give_back(execution) == not_started

    @precondition(lambda self: self.held.executions())
    @rule(data=st.data(), gone=st.booleans())
    def lose(self, data: st.DataObject, gone: bool) -> None:
        execution = self._any(self.held.executions(), data)
        if self.held.lose(execution, gone=gone):
            self.lost.add(execution.key)
            self.free.add(execution.claimed.id)  # the sweep has taken it: it is claimed again under a later epoch

    @precondition(lambda self: self.in_threads)
    @rule(data=st.data())
    def abandon(self, data: st.DataObject) -> None:
        execution = self._any(self.in_threads, data)
        if self.held.abandon(execution):
            self.lost.add(execution.key)
            self.free.add(execution.claimed.id)  # somebody has seen that its process is gone

    @rule(fails=st.booleans())
    def write_ends(self, fails: bool) -> None:
        ends = self.held.take_ends()
        if fails:
            self.held.return_ends(ends)
            return
        for each in ends:
            self.ended[(each.id, each.epoch)] += 1
            self.free.add(each.id)
        self.held.finish(ends)

    @invariant()
    def starts_and_ends_are_unique(self) -> None:
        assert not [key for key, count in self.starts.items() if count > 1]
        assert not [key for key, count in self.ended.items() if count > 1]
        assert not self.lost & set(self.ended)

    @invariant()
    def no_more_run_than_there_are_threads(self) -> None:
        assert len(self.in_threads) <= 3
        assert {execution.key for execution in self.held.running()} == {execution.key for execution in self.in_threads}

    def teardown(self) -> None:
        """Ends everything: nothing may be left in the process."""
        while self.delivered or self.in_threads:
            for execution in list(self.in_threads):
                self.in_threads.remove(execution)
                self.held.end(execution, completed(execution.claimed, None))
            for message in list(self.delivered):
                self.delivered.remove(message)
                started = self.held.start(*message.key, time_limit=60)
                if started is not None:
                    self.in_threads.append(started)
        for execution in self.held.unstarted():  # their lease had ended before they could start
            self.held.lose(execution)
        self.held.finish(self.held.take_ends())
        assert self.held.is_idle()


Threads.TestCase.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
TestThreads = Threads.TestCase


@given(seed=st.integers(0, 2**32))
@settings(max_examples=15, deadline=None)
def test_real_threads_that_meet_at_one_execution_have_one_winner(seed: int) -> None:
    dice = random.Random(seed)
    delivered: list[Execution] = []
    held = HeldTasks("w", 4, delivered.append)
    for claim_number in range(1, 9):
        held.add([claimed("t", claim_number)], claim_number, FOREVER)
        [execution] = [each for each in delivered if each.claimed.epoch == claim_number]
        wins: list[str] = []
        meeting = threading.Barrier(6)

        def act(
            name: str, execution: Execution = execution, wins: list[str] = wins, meeting: threading.Barrier = meeting
        ) -> None:
            meeting.wait()
            acts = {
                "start": lambda: held.start(*execution.key, time_limit=60) is not None,
                "give back": lambda: held.give_back(execution),
                "lose": lambda: held.lose(execution),
            }
            if acts[name]():
                wins.append(name)
                if name == "start":
                    wins.append("end" if held.end(execution, completed(execution.claimed, None)) else "no end")

        names = dice.sample(["start", "start", "give back", "give back", "lose", "lose"], 6)
        threads = [threading.Thread(target=act, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        held.finish(held.take_ends())
        held.start(*execution.key, time_limit=60)  # its message, if no thread had taken it
        assert sorted(wins) in (["end", "start"], ["lose", "no end", "start"], ["give back"], ["lose"]), wins
        assert held.is_idle()


def test_an_epoch_that_is_given_again_does_not_start_beside_itself() -> None:
    """The database has lost its last commits, and gives the same epoch to the process that still runs it."""
    delivered: list[Execution] = []
    held = HeldTasks("w", 2, delivered.append)
    held.add([claimed("t", 1)], 1, FOREVER)
    running = held.start("t", 1, 60)
    assert running is not None
    held.add([claimed("t", 1), claimed("u", 1)], 2, FOREVER)
    assert [execution.key for execution in delivered] == [("t", 1), ("u", 1)]
    assert held.start("t", 1, 60) is None
    assert running.state == "lost"
    assert held.get(("t", 1)) is running  # the heartbeat does not give the claim back yet
    assert not held.end(running, completed(running.claimed, "late"))
    assert held.take_ends() == []
    assert held.get(("t", 1)) is None  # now it does: an orphan
