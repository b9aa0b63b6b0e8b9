"""All that the threads of a worker process share: the executions it holds, the line of those that wait for a thread,
and the ends that are to be written. Every move of an execution is made here, under one lock, so it has exactly one
winner."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from broker.execution import outcomes
from broker.execution.clocks import boot_time
from broker.execution.durations import Durations
from broker.execution.execution import Execution, Key
from broker.execution.interrupts import LeaseGone
from broker.execution.lease_timer import LeaseTimer
from broker.execution.wakeup import Wakeup
from state.errors import LeaseLost
from state.logs import log
from state.workers.leases import Claimed, Settlement

Deliver = Callable[[Execution], None]

_WITHOUT_LEASE = 3.0  # seconds in which code whose lease is gone must stop


class HeldTasks:
    def __init__(self, worker: str, threads: int, deliver: Deliver, timer: LeaseTimer | None = None) -> None:
        self.worker = worker
        self.threads = threads
        self.wakeup = Wakeup()  # for the dispatcher, which writes ends and claims
        self.durations = Durations()  # how long the actors take in this process
        self.claims_processed = 0  # the number of the last claim whose answer is in here
        self._deliver = deliver
        self._timer = timer
        self._lock = threading.Lock()
        self._executions: dict[Key, Execution] = {}
        self._line: deque[Execution] = deque()  # claimed ahead; no thread is free for them yet
        self._handed: set[Key] = set()  # on their way to a thread that is free
        self._occupied: dict[Key, Execution] = {}  # their code runs in a thread
        self._plain = 0  # threads that run plain Dramatiq messages
        self._ends: list[Settlement] = []

    # The dispatcher.

    def add(self, claimed: Iterable[Claimed], claim_number: int, lease_until: float) -> None:
        """Takes the answer to a claim. Executions without a free thread wait in the line."""
        with self._lock:
            for each in claimed:
                execution = Execution(each, lease_until)
                self._executions[execution.key] = execution
                self._line.append(execution)
            self.claims_processed = claim_number
            ready = self._next_of_line()
        self._hand_over(ready)

    def take_ends(self) -> list[Settlement]:
        with self._lock:
            ends, self._ends = self._ends, []
            return ends

    def return_ends(self, ends: Sequence[Settlement]) -> None:
        """They could not be written now."""
        with self._lock:
            self._ends[:0] = ends

    def finish(self, ends: Iterable[Settlement]) -> None:
        """Their ends are written, by us or by somebody else."""
        with self._lock:
            for each in ends:
                execution = self._executions.pop((each.id, each.epoch), None)
                if execution is not None and execution.key not in self._occupied and execution.state != "over":
                    execution.move("over")

    def give_back_idle(self, seconds: float) -> None:
        """Gives back executions that no thread has started for so long: somebody else may have one free."""
        limit = time.monotonic() - seconds
        for execution in self.waiting():
            if execution.claimed_at < limit:
                self.give_back(execution)

    def give_back_all(self) -> None:
        """All that no thread has started."""
        for execution in self.waiting():
            self.give_back(execution)

    # The threads that run tasks.

    def start(self, task_id: str, epoch: int, time_limit: float) -> Execution | None:
        """None when it was given back or lost on its way to the thread, or has been started before."""
        key = (task_id, epoch)
        with self._lock:
            self._handed.discard(key)
            execution = self._executions.get(key)
            waits = execution is not None and execution.state == "claimed"
            if execution is not None and waits and self._holds_lease(execution):
                execution.move("running")
                execution.started_at = time.monotonic()
                execution.deadline = execution.started_at + time_limit
                self._occupied[key] = execution
                if self._timer is not None:
                    self._timer.advance(self.lease_until(execution))
                return execution
            ready = self._next_of_line()
        self._hand_over(ready)
        if execution is not None and waits:
            self.lose(execution, gone=False)  # its lease ended before it could start
        return None

    def end(self, execution: Execution, settlement: Settlement) -> bool:
        """The code has ended, and its thread is free. False when the end is not written by this: it stands already, or
        the task is no longer ours."""
        with self._lock:
            self._occupied.pop(execution.key, None)
            wins = execution.state == "running"
            if wins:
                execution.move("ending")
                self._ends.append(settlement)
            else:
                execution.move("over")
                self._executions.pop(execution.key, None)
            ready = self._next_of_line()
        self._hand_over(ready)
        self.wakeup.set()
        return wins

    def begin_completion(self, execution: Execution) -> None:
        """The task's own transaction is about to write its end. Raises LeaseLost when it no longer may."""
        with self._lock:
            if execution.state != "running" or not self._holds_lease(execution):
                raise LeaseLost(*execution.key)
            execution.move("ending")

    def cancel_completion(self, execution: Execution) -> None:
        """The task's own transaction was rolled back."""
        with self._lock:
            if execution.state == "ending":
                execution.move("running")

    def require_right(self, execution: Execution) -> None:
        """Raises LeaseLost when nothing may be said for the task any more: also when this process was stopped past its
        lease, and the heartbeat has not noticed yet."""
        if execution.state == "lost" or not self._holds_lease(execution):
            self.lose(execution)
            raise LeaseLost(*execution.key)

    # Everybody.

    def give_back(self, execution: Execution) -> bool:
        """True when no thread had started it; then none will, and it is released."""
        with self._lock:
            if execution.state != "claimed":
                return False
            execution.move("given back")
            self._leave_line(execution)
            self._ends.append(outcomes.released(execution.claimed))
        self.wakeup.set()
        return True

    def abandon(self, execution: Execution) -> bool:
        """True when its end is now left to those who see that this process, and its code with it, is gone."""
        with self._lock:
            if execution.state != "running":
                return False
            execution.move("abandoned")
            return True

    def release_orphan(self, task_id: str, epoch: int) -> None:
        """The database thinks that we hold it, and we do not."""
        with self._lock:
            if (task_id, epoch) in self._executions:
                return
            self._ends.append(Settlement(task_id, epoch, "released"))
        self.wakeup.set()

    def lose(self, execution: Execution, *, gone: bool = True) -> bool:
        """Stops its code; nothing more is written for it. `gone`: the task is somebody else's by now; otherwise it will
        be, unless its code stops in time."""
        with self._lock:
            if gone and execution.state in ("claimed", "running", "lost") and not execution.lease_is_gone:
                execution.gone_at = boot_time()
            if execution.state not in ("claimed", "running"):
                return False
            execution.move("lost")
            self._leave_line(execution)
            if execution.key not in self._occupied:
                execution.move("over")
                self._executions.pop(execution.key, None)
        self.set_timer()
        log.warning("lease lost", task_id=execution.claimed.id, epoch=execution.claimed.epoch, worker=self.worker)
        execution.interrupt(LeaseGone)
        return True

    def renew(self, keys: Iterable[Key], until: float) -> None:
        """Extends these leases until then, on the boot clock. The others end when they did before."""
        with self._lock:
            for key in keys:
                if (execution := self._executions.get(key)) is not None:
                    execution.lease_until = max(execution.lease_until, until)
        self.set_timer()

    def set_timer(self) -> None:
        """Ends this process with the first lease whose code still runs; never if none does."""
        if self._timer is not None:
            with self._lock:
                # Code that goes on after its task was completed needs no lease.
                running = [execution for execution in self._occupied.values() if execution.state != "ending"]
                self._timer.set(min(map(self._end_of_patience, running), default=None))

    def _end_of_patience(self, execution: Execution) -> float:
        return execution.gone_at + _WITHOUT_LEASE if execution.lease_is_gone else self.lease_until(execution)

    def lease_until(self, execution: Execution) -> float:
        """On the boot clock; long ago when the lease is certainly gone."""
        return 0.0 if execution.lease_is_gone else execution.lease_until

    def _holds_lease(self, execution: Execution) -> bool:
        return boot_time() < self.lease_until(execution)

    def get(self, key: Key) -> Execution | None:
        return self._executions.get(key)

    def executions(self) -> list[Execution]:
        with self._lock:
            return list(self._executions.values())

    def running(self) -> list[Execution]:
        """Those whose code occupies a thread, whatever became of their right to write."""
        with self._lock:
            return list(self._occupied.values())

    def waiting(self) -> list[Execution]:
        """Those that no thread has started yet."""
        with self._lock:
            handed = [self._executions[key] for key in self._handed if key in self._executions]
            return [*self._line, *(execution for execution in handed if execution.state == "claimed")]

    def is_idle(self) -> bool:
        """Whether nothing is held and every end is written."""
        with self._lock:
            return not (self._executions or self._ends or self._occupied)

    # Threads that run plain Dramatiq messages.

    def occupy_plain(self) -> None:
        with self._lock:
            self._plain += 1

    def leave_plain(self) -> None:
        with self._lock:
            self._plain -= 1
            ready = self._next_of_line()
        self._hand_over(ready)
        self.wakeup.set()

    @property
    def plain(self) -> int:
        return self._plain

    def _hand_over(self, ready: list[Execution]) -> None:
        """Without the lock. An execution that is given back meanwhile is not started when its message arrives."""
        for execution in ready:
            self._deliver(execution)

    # Under the lock.

    def _next_of_line(self) -> list[Execution]:
        """As many of the line as there are free threads."""
        ready = []
        while self._line and len(self._handed) + len(self._occupied) + self._plain < self.threads:
            execution = self._line.popleft()
            self._handed.add(execution.key)
            ready.append(execution)
        return ready

    def _leave_line(self, execution: Execution) -> None:
        if execution.key not in self._handed and execution in self._line:
            self._line.remove(execution)


_of_this_process: HeldTasks | None = None


def set_held_tasks(held: HeldTasks | None) -> None:
    """Makes them those of this process."""
    global _of_this_process
    _of_this_process = held


def get_held_tasks() -> HeldTasks:
    if _of_this_process is None:
        raise RuntimeError("Tasks run in worker processes: start them with `dramatiq actors`.")
    return _of_this_process
