"""Follows a stream of the server from any position, each event exactly once, across lost connections and restarts of
the server."""

import json
import time
from collections.abc import Callable
from typing import Any, cast

from taskclient.effects import (
    Answer,
    Emit,
    Emitting,
    EmittingUntil,
    End,
    Frame,
    Lost,
    Open,
    Program,
    Read,
    Reply,
    Request,
    Sleep,
)
from taskclient.errors import ServerUnreachable, TaskCanceled, TaskDead, WaitTimeout, make_problem
from taskclient.models import Event, Task
from taskclient.programs import Call, call, locate
from taskclient.retries import Backoff, is_temporary, read_retry_after

SILENCE = 45.0  # seconds; the server sends a comment every 15
_WORKED = 2.0  # seconds after which a connection that brought nothing was still a good one
_WAKE = 10.0  # with a deadline: less than the time between two comments, so that silence is noticed in time


class Stream:
    """The state of one stream. `path` answers with server-sent events; `state_path` with what the stream follows, if
    the stream has an end."""

    def __init__(
        self,
        path: str,
        after: int | None,
        *,
        state_path: str | None,
        patience: float,
        on_lost: Callable[[], None] | None = None,
        deadline: float | None = None,
    ) -> None:
        self._path = path
        self._position = after
        self._state_path = state_path
        self._patience = patience
        self._backoff = Backoff(patience)
        self._on_lost = on_lost or (lambda: None)
        self._deadline = deadline
        self._began = False  # a connection of this stream has brought something

    def follow(self) -> Emitting[Event]:
        """Emits the events until `done`, or until the server says that there are no more."""
        while True:
            silence = self._choose_silence()
            answer = yield Open(self._make_request(), silence)
            if isinstance(answer, Answer) and answer.status == 204:
                yield from self._end_without_done()
                return
            if isinstance(answer, Answer) and answer.status == 200:
                if (yield from self._read(silence)):
                    return
            else:
                yield from self._pause(cast("Answer | Lost", answer))

    def _read(self, silence: float) -> EmittingUntil[Event, bool]:
        """Returns whether the stream is over."""
        opened = time.monotonic()
        while True:
            match (yield Read()):
                case Frame() as frame if frame.data:
                    self._backoff.succeed()
                    event = self._accept(frame)
                    if event is not None:
                        yield Emit(event)
                        if event.kind == "done":
                            return True
                    if self._deadline is not None and self._deadline - time.monotonic() < 0.8 * silence:
                        return False  # the next connection notices the deadline in time
                case Frame():
                    pass
                case Lost(timed_out=True) if self._deadline is not None:
                    return False
                case Lost() | End():
                    if time.monotonic() - opened > _WORKED:
                        self._backoff.succeed()
                    self._on_lost()
                    yield from self._pause(None)
                    return False

    def _accept(self, frame: Frame) -> Event | None:
        """Returns the event unless it has been seen."""
        document: dict[str, Any] = json.loads(frame.data)
        if not frame.id:  # a stream without positions, such as that of the queues
            return Event(n=0, kind=frame.event, data=document)
        n = int(frame.id)
        if frame.event in ("snapshot", "done"):
            event = Event(n=n, kind=frame.event, data=document, at=document.get("updated_at"))
        elif self._position is not None and n <= self._position:
            return None
        else:
            event = Event.model_validate(document)
        self._position = n
        self._began = True
        return event

    def _end_without_done(self) -> Emitting[Event]:
        """The server has nothing after our position. If a connection was lost just before `done`, it is made up."""
        if self._began and self._state_path is not None:
            state = yield from call(Call("GET", self._state_path, parse=dict), self._patience)
            yield Emit(Event(n=self._position or 0, kind="done", data=state, at=state.get("updated_at")))

    def _pause(self, answer: Answer | Lost | None) -> Program[None]:
        """Waits before the next connection. Raises if another one makes no sense, or if the patience has ended."""
        asked = None
        if isinstance(answer, Answer):
            if not is_temporary(answer.status):
                raise make_problem(answer.status, answer.headers, answer.body)
            asked = read_retry_after(answer.headers)
        if answer is not None:
            self._on_lost()
        pause = self._backoff.next_pause(asked)
        if pause is None:
            if isinstance(answer, Answer):
                raise make_problem(answer.status, answer.headers, answer.body)
            raise ServerUnreachable(f"The stream broke off: {answer.reason if answer else 'the server ended it'}.")
        if self._deadline is not None:
            pause = min(pause, max(self._deadline - time.monotonic(), 0))
        yield Sleep(pause)

    def _choose_silence(self) -> float:
        if self._deadline is None:
            return SILENCE
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        return min(remaining, _WAKE)

    def _make_request(self) -> Request:
        headers = {"Accept": "text/event-stream"}
        if self._position is not None:
            headers["Last-Event-ID"] = str(self._position)
        return Request("GET", self._path, headers=headers)


def follow_task(task_id: str, after: int | None, patience: float) -> Emitting[Event]:
    here = locate(task_id)
    return Stream(f"{here}/stream", after, state_path=here, patience=patience).follow()


def wait(task_id: str, timeout: float | None, patience: float) -> Program[Any]:
    """Returns the task's result once it has completed. Raises TaskDead, TaskCanceled or WaitTimeout."""
    deadline = None if timeout is None else time.monotonic() + timeout
    here = locate(task_id)
    stream = Stream(f"{here}/stream", None, state_path=here, patience=patience, deadline=deadline).follow()
    reply: Reply = None
    while True:
        try:
            step = stream.send(reply)
        except TimeoutError:
            raise WaitTimeout(task_id, timeout or 0) from None
        if not isinstance(step, Emit):
            reply = yield step
            continue
        reply = None
        if step.value.kind == "done":
            return _take_result(step.value.task)


def _take_result(task: Task) -> Any:
    if task.status == "completed":
        return task.result
    raise TaskDead(task) if task.status == "dead" else TaskCanceled(task)
