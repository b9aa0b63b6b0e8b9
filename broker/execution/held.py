"""The tasks that a worker process holds: its executions, those that wait for a free place among them, and the ends that
are to be written. All threads of the process share this object. Every move of an execution is made here, under one
lock, so each move has exactly one winner."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from broker.execution import outcomes
from broker.execution.clocks import boot_time
from broker.execution.durations import Durations
from broker.execution.execution import Execution, Key, StartCheck
from broker.execution.interrupts import LeaseGone
from broker.execution.lease_timer import LeaseTimer
from broker.execution.places import Deliver, Places, deliver_each
from broker.execution.wakeup import Wakeup
from state.errors import LeaseLost
from state.logs import log
from state.tasks import catalog
from state.workers.leases import Claimed, Settlement


class HeldTasks:
    def __init__(
        self,
        worker: str,
        threads: int,
        deliver: Callable[[Execution], None],
        timer: LeaseTimer | None = None,
        coroutines: int = 0,
        start_coroutines: Deliver | None = None,
    ) -> None:
        self.worker = worker
        self.threads = Places(threads, partial(deliver_each, deliver))
        self.coroutines = Places(coroutines, start_coroutines or self.threads.deliver)
        self.wakeup = Wakeup()  # of the dispatcher, which writes ends and claims
        self.durations = Durations()  # how long the actors take in this process
        self.claims_processed = 0  # the number of the last claim whose tasks were added
        self.start_checks: list[StartCheck] = []  # run before the code of each task
        self._timer = timer
        self._lock = threading.Lock()
        self._executions: dict[Key, Execution] = {}
        self._ends: list[Settlement] = []

    # Called by the dispatcher.

    def add(self, claimed: Iterable[Claimed], claim_number: int, lease_until: float) -> None:
        """Adds the tasks of a claim. Those without a free place wait for one.

        A database that has lost its last commits gives an epoch again, perhaps to the process that still runs it: that
        execution is stopped. The heartbeat gives the new claim back as an orphan, when nothing of it is held any
        more."""
        known: list[Execution] = []
        with self._lock:
            for each in claimed:
                execution = Execution(each, lease_until, is_async=catalog.is_async(each.actor))
                if (before := self._executions.get(execution.key)) is not None:
                    known.append(before)
                    continue
                self._executions[execution.key] = execution
                self.places_of(execution).add(execution)
            self.claims_processed = claim_number
            threads, coroutines = self.threads.take_ready(), self.coroutines.take_ready()
        self.threads.deliver(threads)
        self.coroutines.deliver(coroutines)
        for before in known:
            self.lose(before)

    def places_of(self, execution: Execution) -> Places:
        return self.coroutines if execution.is_async else self.threads

    def take_ends(self) -> list[Settlement]:
        with self._lock:
            ends, self._ends = self._ends, []
            return ends

    def return_ends(self, ends: Sequence[Settlement]) -> None:
        """Takes back ends that could not be written now."""
        with self._lock:
            self._ends[:0] = ends

    def finish(self, ends: Iterable[Settlement]) -> None:
        """Forgets executions whose ends are written, by this process or by another."""
        with self._lock:
            for each in ends:
                execution = self._executions.pop((each.id, each.epoch), None)
                if execution is not None and not self._is_occupied(execution) and execution.state != "over":
                    execution.move("over")

    def give_back_idle(self, seconds: float) -> None:
        """Gives back executions that have not started for so long: another process may have a free place."""
        limit = time.monotonic() - seconds
        for execution in self.unstarted():
            if execution.claimed_at < limit:
                self.give_back(execution)

    def give_back_all(self) -> None:
        """Gives back all executions that have not started. No place is free from now on, so that what a claim under
        way brings can be given back as well."""
        with self._lock:
            self.threads.limit = self.coroutines.limit = 0
        for execution in self.unstarted():
            self.give_back(execution)

    # Called by the threads that run tasks, and by the event loop.

    def start(self, task_id: str, epoch: int, time_limit: float) -> Execution | None:
        """Returns None if the execution was given back or lost on its way to its place, or was started before."""
        key = (task_id, epoch)
        with self._lock:
            execution = self._executions.get(key)
            self.threads.arrive(key)
            self.coroutines.arrive(key)
            waits = execution is not None and execution.state == "claimed"
            if execution is not None and waits and execution.holds_lease:
                execution.move("running")
                execution.started_at = time.monotonic()
                execution.deadline = execution.started_at + time_limit
                self.places_of(execution).occupied[key] = execution
                if self._timer is not None:
                    self._timer.advance(execution.lease_end)
                return execution
        self._fill(self.threads)
        self._fill(self.coroutines)
        if execution is not None and waits:
            self.lose(execution, gone=False)  # its lease ended before the code could start
        return None

    def end(self, execution: Execution, settlement: Settlement) -> bool:
        """Frees the place of code that has ended. Returns False if the settlement is not used: the end is written
        already, or this process no longer owns the task."""
        return self.end_all([(execution, settlement)])[0]

    def end_all(self, ends: Sequence[tuple[Execution, Settlement]]) -> list[bool]:
        """As `end`, for many executions of the same kind at once."""
        won = []
        with self._lock:
            for execution, settlement in ends:
                places = self.places_of(execution)
                places.occupied.pop(execution.key, None)
                won.append(execution.state == "running")
                if won[-1]:
                    execution.move("ending")
                    self._ends.append(settlement)
                else:
                    execution.move("over")
                    self._executions.pop(execution.key, None)
        self._fill(places)
        self.wakeup.set()
        return won

    def begin_own_end(self, execution: Execution) -> None:
        """Reserves the end for the code of the task, which writes it itself. Raises LeaseLost if it no longer
        may."""
        with self._lock:
            if execution.state != "running" or not execution.holds_lease:
                raise LeaseLost(*execution.key)
            execution.move("ending")

    def cancel_own_end(self, execution: Execution) -> None:
        """Undoes begin_own_end: the end was not written."""
        with self._lock:
            if execution.state == "ending":
                execution.move("running")

    def require_ownership(self, execution: Execution) -> None:
        """Raises LeaseLost if this process no longer owns the task: also if the process was suspended until after the
        end of the lease, and the heartbeat has not noticed yet."""
        if execution.state == "lost" or not execution.holds_lease:
            self.lose(execution)
            raise LeaseLost(*execution.key)

    # Called by any thread.

    def give_back(self, execution: Execution) -> bool:
        """Releases the task if it has not started. Returns False if it has."""
        with self._lock:
            if execution.state != "claimed":
                return False
            execution.move("given back")
            self.places_of(execution).remove(execution)
            self._ends.append(outcomes.released(execution.claimed))
        self.wakeup.set()
        return True

    def abandon(self, execution: Execution) -> bool:
        """Leaves the end of running code to the process that finds this process gone. Returns False if the code has
        ended."""
        with self._lock:
            if execution.state != "running":
                return False
            execution.move("abandoned")
            return True

    def release_orphan(self, task_id: str, epoch: int) -> None:
        """Releases a task that this process holds according to the database, and in fact does not."""
        with self._lock:
            if (task_id, epoch) in self._executions:
                return
            self._ends.append(Settlement(task_id, epoch, "released"))
        self.wakeup.set()

    def lose(self, execution: Execution, *, gone: bool = True) -> bool:
        """Stops the code of a task whose lease is lost; nothing more is written for it. With `gone` another process
        may own the task already; without, the lease is about to end."""
        with self._lock:
            if gone and execution.state in ("claimed", "running", "lost") and not execution.lease_is_gone:
                execution.gone_at = boot_time()
            if execution.state not in ("claimed", "running"):
                return False
            execution.move("lost")
            self.places_of(execution).remove(execution)
            if not self._is_occupied(execution):
                execution.move("over")
                self._executions.pop(execution.key, None)
        self.set_timer()
        log.warning("lease lost", task_id=execution.claimed.id, epoch=execution.claimed.epoch, worker=self.worker)
        execution.interrupt(LeaseGone)
        return True

    def renew(self, keys: Iterable[Key], until: float) -> None:
        """Extends these leases until then, on the boot clock. All other leases keep their end."""
        with self._lock:
            for key in keys:
                if (execution := self._executions.get(key)) is not None:
                    execution.lease_until = max(execution.lease_until, until)
        self.set_timer()

    def set_timer(self) -> None:
        """Sets the timer to the first end of a lease whose code still runs, or to never if no code runs."""
        if self._timer is not None:
            with self._lock:
                # Code that goes on after its task was completed needs no lease.
                running = [execution for execution in self._occupied() if execution.state != "ending"]
                self._timer.set(min((execution.kill_time for execution in running), default=None))

    def get(self, key: Key) -> Execution | None:
        return self._executions.get(key)

    def executions(self) -> list[Execution]:
        with self._lock:
            return list(self._executions.values())

    def running(self) -> list[Execution]:
        """Returns the executions whose code occupies a place, also those that may no longer write."""
        with self._lock:
            return self._occupied()

    def unstarted(self) -> list[Execution]:
        """Returns the executions that have not started yet."""
        with self._lock:
            return [*self.threads.unstarted(), *self.coroutines.unstarted()]

    def is_idle(self) -> bool:
        """Returns whether nothing is held and every end is written."""
        with self._lock:
            return not (self._executions or self._ends or self.threads.occupied or self.coroutines.occupied)

    # Called by threads that run plain Dramatiq messages.

    def occupy_plain(self) -> None:
        with self._lock:
            self.threads.plain += 1

    def leave_plain(self) -> None:
        with self._lock:
            self.threads.plain -= 1
        self._fill(self.threads)
        self.wakeup.set()

    def _fill(self, places: Places) -> None:
        """Starts executions that wait for a place, if there are free ones. One that is given back meanwhile is not
        started when it arrives there."""
        with self._lock:
            ready = places.take_ready()
        places.deliver(ready)

    # Called with the lock held.

    def _occupied(self) -> list[Execution]:
        return [*self.threads.occupied.values(), *self.coroutines.occupied.values()]

    def _is_occupied(self, execution: Execution) -> bool:
        return execution.key in self.places_of(execution).occupied


_of_this_process: HeldTasks | None = None


def set_held_tasks(held: HeldTasks | None) -> None:
    global _of_this_process
    _of_this_process = held


def get_held_tasks() -> HeldTasks:
    if _of_this_process is None:
        raise RuntimeError("Tasks run in worker processes: start them with `dramatiq actors`.")
    return _of_this_process
