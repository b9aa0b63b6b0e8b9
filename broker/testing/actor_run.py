"""A run of an actor with a real context, without a worker."""

import asyncio
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from broker.async_context import AsyncContext
from broker.context import Context
from broker.execution.execution import Execution
from broker.execution.held import HeldTasks
from broker.execution.offload import Offload
from broker.execution.sandboxes import OpenedSandbox, Process, Sandboxes
from broker.execution.storable import to_result_json
from broker.execution.transaction import CompletingTransaction
from broker.execution.wakeup import Wakeup
from broker.task import TaskActor
from state import jsonsafe
from state.database import AnyConnection
from state.tasks.ids import new_task_id
from state.workers.leases import Claimed, Report


class EmittedEvent(NamedTuple):
    kind: str
    data: dict[str, Any]


@dataclass(slots=True)
class ActorRun:
    """One run of an actor. `result` is JSON, as it would be stored."""

    result: Any = None
    events: list[EmittedEvent] = field(default_factory=list)  # all of them, in order, with every progress
    progress: dict[str, Any] | None = None  # the last one
    checkpoint: dict[str, Any] = field(default_factory=dict)  # with the values that were given to run_actor
    tokens: int = 0  # used in this run
    cost: float = 0


def run_actor(
    actor: TaskActor,
    payload: Any,
    *,
    checkpoint: Mapping[str, Any] | None = None,
    attempt: int = 1,
    tokens: int = 0,
    tenant: str | None = None,
) -> ActorRun:
    """Runs a sync or an async actor. `payload` is a request or its JSON; it is validated as at submit. `checkpoint` and
    `tokens` are what earlier attempts have saved and used. Raises what the actor raises.

    Gates, the time limit and retries are left to real workers. `ctx.transaction()` needs the fixture
    `callboard_database`. In an async test, call it with `await asyncio.to_thread(run_actor, …)`."""
    spec = actor.spec
    _, stored = spec.validate(payload)
    claimed = Claimed(
        id=new_task_id(),
        epoch=attempt,
        actor=spec.name,
        queue=spec.queue,
        lane="primary" if attempt == 1 else "retry",
        attempt=attempt,
        attempts_before=0,
        max_attempts=max(spec.max_attempts, attempt),
        payload=stored,
        checkpoint=_copy_json(dict(checkpoint or {})),
        tokens=tokens,
        cost=Decimal(0),
        tenant=tenant,
        gates=[],
    )
    with _recording(claimed) as recorder:
        context = _LocalContext(recorder.execution, recorder.held)
        request = spec.request.model_validate(stored)
        try:
            value = asyncio.run(_run_async(actor, context, request)) if spec.is_async else actor.work(context, request)
            recorder.run.result = to_result_json(context.result if context.is_completed else value)
        finally:
            context.close()
            recorder.run.checkpoint = dict(context.checkpoint)
    return recorder.run


async def _run_async(actor: TaskActor, context: Context, request: Any) -> Any:
    offload = Offload(coroutines=1)
    try:
        return await actor.work(AsyncContext(context, offload), request)
    finally:
        offload.close()


def _copy_json(values: dict[str, Any]) -> dict[str, Any]:
    jsonsafe.check(values)
    copy: dict[str, Any] = json.loads(jsonsafe.dump(values))
    return copy


class _Recorder(Wakeup):
    """Takes the place of the dispatcher's wake-up: takes the reports of the execution at once, and keeps them."""

    def __init__(self, claimed: Claimed) -> None:
        super().__init__()
        self.run = ActorRun()
        self.held = HeldTasks("test", 1, lambda _: None)
        self.held.wakeup.wake_pipe.close()
        self.held.add([claimed], 1, math.inf)
        execution = self.held.start(claimed.id, claimed.epoch, math.inf)
        assert execution is not None  # noqa: S101  (nothing else can have started it)
        self.execution: Execution = execution
        self.held.wakeup = self

    def set(self) -> None:
        report = self.execution.take_report(time.monotonic(), final=True)
        if report is not None:
            self._add(report)
            self.execution.note_report_written()

    def _add(self, report: Report) -> None:
        self.run.events += [EmittedEvent(event["kind"], event["data"]) for event in report.events]
        self.run.progress = report.progress or self.run.progress
        self.run.tokens += report.tokens
        self.run.cost += report.cost


@contextmanager
def _recording(claimed: Claimed) -> Iterator[_Recorder]:
    recorder = _Recorder(claimed)
    try:
        recorder.execution.enter_code()
        yield recorder
    finally:
        recorder.execution.code.end()
        recorder.set()
        recorder.wake_pipe.close()


class _LocalContext(Context):
    """A context whose task is in no database."""

    @property
    def is_completed(self) -> bool:
        return isinstance(self._transaction, _LocalTransaction) and self._transaction.is_committed

    def save(self, **values: Any) -> None:
        with self._writing():
            self._checkpoint = {**self._checkpoint, **_copy_json(values)}

    def _make_sandboxes(self) -> Sandboxes:
        return _LocalSandboxes(self, self._execution)

    def _make_transaction(self) -> CompletingTransaction:
        return _LocalTransaction(self._execution, self._held, lambda: self.result)


class _LocalSandboxes(Sandboxes):
    """Sandboxes without rows."""

    def _write_row(self, opened: OpenedSandbox) -> None:
        pass

    def _end_row(self, sandbox_id: str, killed: int, survivors: Sequence[Process]) -> None:
        pass


class _LocalTransaction(CompletingTransaction):
    is_committed = False

    def _require_owned(self) -> None:
        pass

    def _complete(self, connection: AnyConnection) -> None:  # noqa: ARG002
        try:
            to_result_json(self._result())
        except BaseException as failure:
            self._opened.__exit__(type(failure), failure, failure.__traceback__)
            raise
        self._opened.close()  # commits
        self.is_committed = True
