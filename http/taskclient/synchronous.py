"""The client for code that blocks."""

import builtins
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from typing import Any, TypeVar, Unpack

import httpx2

from taskclient import exporting, following, programs
from taskclient.addresses import LARGEST_EVENT, Address, make_arguments, to_lost
from taskclient.effects import Answer, Effect, Emit, Emitting, End, Frame, Open, Program, Read, Reply, Send, Sleep
from taskclient.lines import LineSplitter
from taskclient.models import Attempt, BatchOutcome, Event, ListedTask, Task
from taskclient.programs import Call, TaskFilter, TaskOptions

_T = TypeVar("_T")


class Client:
    """Talks to one server. `url` and `key` default to CALLBOARD_URL and CALLBOARD_KEY.

    `timeout`: seconds for one answer. `patience`: seconds in which a request that can safely be repeated is sent again
    if the server does not answer or asks to come later (Retry-After). Threads may share a client."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout: float = 30.0,
        patience: float = 60.0,
        socket: str | None = None,
    ) -> None:
        address = Address.find(url, key, socket)
        self.url = address.url
        self._patience = patience
        self._timeout = timeout
        transport = None if socket is None else httpx2.HTTPTransport(uds=socket)
        self._http = httpx2.Client(transport=transport, **address.make_options(timeout))

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def submit(
        self,
        actor: str,
        payload: Mapping[str, Any] | None = None,
        *,
        idempotency_key: str | None = None,
        **options: Unpack[TaskOptions],
    ) -> Task:
        """Submits a task. A connection that is lost on the way never makes a second one."""
        return self._run_call(programs.submit(actor, payload or {}, idempotency_key, options))

    def submit_many(self, tasks: Iterable[Mapping[str, Any]]) -> Generator[BatchOutcome, None, None]:
        """Submits tasks, each `{actor, payload, ...}`, in batches. Yields an outcome for each, in order."""
        return self._iterate(programs.submit_many(tasks, self._patience))

    def get(self, task_id: str) -> Task:
        return self._run_call(programs.get(task_id))

    def list(self, **filters: Unpack[TaskFilter]) -> Generator[ListedTask, None, None]:
        """Yields tasks, newest first, page by page."""
        return self._iterate(programs.list_tasks(filters, self._patience))

    def wait(self, task_id: str, timeout: float | None = None) -> Any:
        """Returns the result when the task has completed. Raises TaskDead, TaskCanceled, or WaitTimeout."""
        return self._run(following.wait(task_id, timeout, self._patience))

    def stream(self, task_id: str, after: int | None = None) -> Generator[Event, None, None]:
        """Yields a `snapshot`, then every later event exactly once, then `done`. `after`: no snapshot, the events after
        that number; 0 begins with the first. Lost connections are opened again."""
        return self._iterate(following.follow_task(task_id, after, self._patience))

    def cancel(self, task_id: str, *, force: bool = False) -> Task:
        return self._run_call(programs.act(task_id, "cancel", {"force": force}))

    def pause(self, task_id: str) -> Task:
        return self._run_call(programs.act(task_id, "pause"))

    def resume(self, task_id: str) -> Task:
        return self._run_call(programs.act(task_id, "resume"))

    def retry(self, task_id: str, payload: Mapping[str, Any] | None = None) -> Task:
        return self._run_call(programs.act(task_id, "retry", None if payload is None else {"payload": payload}))

    def dismiss(self, task_id: str) -> Task:
        return self._run_call(programs.act(task_id, "dismiss"))

    def delete(self, task_id: str) -> None:
        self._run_call(programs.delete(task_id))

    def attempts(self, task_id: str) -> builtins.list[Attempt]:
        return self._run_call(programs.attempts(task_id))

    def events(self, task_id: str, after: int = 0) -> Generator[Event, None, None]:
        """Yields the history that there is, from the first event after `after`."""
        return self._iterate(programs.list_events(task_id, after, self._patience))

    def export(
        self,
        *,
        since: str | None = None,
        until: str | None = None,
        after: str | None = None,
        tenant: str | None = None,
    ) -> Generator[str, None, None]:
        """Yields tasks in the order of their creation, each as a line of JSON with its `attempts` and `events`. `since`
        and `until`: moments in ISO 8601; `after`: the id of the last task of an export that is continued."""
        params = {"since": since, "until": until, "after": after, "tenant": tenant}
        return self._iterate(exporting.export(params, self._patience))

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        idempotency_key: str | None = None,
    ) -> Any:
        """Any other operation, such as `request("GET", "/api/v1/gates")`. Returns the JSON of the answer. With a key,
        for operations that take one, the request is repeated if its answer is lost."""
        return self._run_call(programs.request(method, path, params or {}, json, idempotency_key))

    def pages(self, path: str, **params: Any) -> Generator[dict[str, Any], None, None]:
        """Yields the items of any list."""
        return self._iterate(programs.iterate(Call("GET", path, params), dict, self._patience))

    def follow(
        self,
        path: str,
        after: int | None = None,
        *,
        state_path: str | None = None,
        on_lost: Callable[[], None] | None = None,
    ) -> Generator[Event, None, None]:
        """Follows any stream. `state_path`: what the stream follows, if it has an end. `on_lost` is called while there
        is no connection."""
        stream = following.Stream(path, after, state_path=state_path, patience=self._patience, on_lost=on_lost)
        return self._iterate(stream.follow())

    def _run_call(self, call: Call[_T]) -> _T:
        return self._run(programs.call(call, self._patience))

    def _run(self, program: Program[_T]) -> _T:
        exchange = _Exchange(self._http, self._timeout)
        reply: Reply = None
        try:
            while True:
                reply = exchange.perform(program.send(reply))
        except StopIteration as end:
            result: _T = end.value
            return result
        finally:
            exchange.close()

    def _iterate(self, program: Emitting[_T]) -> Generator[_T, None, None]:
        exchange = _Exchange(self._http, self._timeout)
        reply: Reply = None
        try:
            while True:
                try:
                    step = program.send(reply)
                except StopIteration:
                    return
                if isinstance(step, Emit):
                    yield step.value
                    reply = None
                else:
                    reply = exchange.perform(step)
        finally:
            exchange.close()


class _Exchange:
    """Performs the steps of one program. Holds at most one open stream."""

    def __init__(self, http: httpx2.Client, timeout: float) -> None:
        self._http = http
        self._timeout = timeout
        self._response: httpx2.Response | None = None
        self._frames: Iterator[Frame] = iter(())

    def perform(self, step: Effect) -> Reply:
        try:
            match step:
                case Send():
                    return _to_answer(self._http.send(self._http.build_request(**make_arguments(step.request))))
                case Open():
                    return self._open(step)
                case Read():
                    return next(self._frames, None) or End()
                case Sleep():
                    time.sleep(step.seconds)
                    return None
        except httpx2.TransportError as failure:
            self.close()
            return to_lost(failure)

    def close(self) -> None:
        if self._response is not None:
            self._response.close()
            self._response = None

    def _open(self, step: Open) -> Answer:
        self.close()
        timeout = httpx2.Timeout(self._timeout, read=step.silence)
        request = self._http.build_request(**make_arguments(step.request), timeout=timeout)
        response = self._http.send(request, stream=True)
        if response.status_code == 200:
            self._response = response
            self._frames = _read_lines(response) if step.lines else _read_events(response)
            return Answer(200, response.headers, b"")
        try:
            response.read()
        finally:
            response.close()
        return _to_answer(response)


def _read_events(response: httpx2.Response) -> Iterator[Frame]:
    for event in httpx2.EventSource(response, LARGEST_EVENT):
        yield Frame(event.event, event.data, event.id)


def _read_lines(response: httpx2.Response) -> Iterator[Frame]:
    splitter = LineSplitter()
    for chunk in response.iter_bytes():
        yield from splitter.split(chunk)
    splitter.end()


def _to_answer(response: httpx2.Response) -> Answer:
    return Answer(response.status_code, response.headers, response.content)
