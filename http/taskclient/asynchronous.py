"""The client for asyncio (and trio): the same verbs, awaited."""

import builtins
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from typing import Any, TypeVar, Unpack

import anyio
import httpx2

from taskclient import exporting, following, programs
from taskclient.addresses import LARGEST_EVENT, Address, make_arguments, to_lost
from taskclient.effects import Answer, Effect, Emit, Emitting, End, Frame, Open, Program, Read, Reply, Send, Sleep
from taskclient.lines import LineSplitter
from taskclient.models import Attempt, BatchOutcome, Event, ListedTask, Task
from taskclient.programs import Call, TaskFilter, TaskOptions

_T = TypeVar("_T")


class AsyncClient:
    """Like `Client`. Lists and streams are asynchronous iterators."""

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
        transport = None if socket is None else httpx2.AsyncHTTPTransport(uds=socket)
        self._http = httpx2.AsyncClient(transport=transport, **address.make_options(timeout))

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def submit(
        self,
        actor: str,
        payload: Mapping[str, Any] | None = None,
        *,
        idempotency_key: str | None = None,
        **options: Unpack[TaskOptions],
    ) -> Task:
        """Submits a task. A connection that is lost on the way never makes a second one."""
        return await self._run_call(programs.submit(actor, payload or {}, idempotency_key, options))

    def submit_many(self, tasks: Iterable[Mapping[str, Any]]) -> AsyncGenerator[BatchOutcome, None]:
        """Submits tasks, each `{actor, payload, ...}`, in batches. Yields an outcome for each, in order."""
        return self._iterate(programs.submit_many(tasks, self._patience))

    async def get(self, task_id: str) -> Task:
        return await self._run_call(programs.get(task_id))

    def list(self, **filters: Unpack[TaskFilter]) -> AsyncGenerator[ListedTask, None]:
        """Yields tasks, newest first, page by page."""
        return self._iterate(programs.list_tasks(filters, self._patience))

    async def wait(self, task_id: str, timeout: float | None = None) -> Any:  # noqa: ASYNC109 (as in Client)
        """Returns the result when the task has completed. Raises TaskDead, TaskCanceled, or WaitTimeout."""
        return await self._run(following.wait(task_id, timeout, self._patience))

    def stream(self, task_id: str, after: int | None = None) -> AsyncGenerator[Event, None]:
        """Yields a `snapshot`, then every later event exactly once, then `done`. `after`: no snapshot, the events after
        that number; 0 begins with the first. Lost connections are opened again."""
        return self._iterate(following.follow_task(task_id, after, self._patience))

    async def cancel(self, task_id: str, *, force: bool = False) -> Task:
        return await self._run_call(programs.act(task_id, "cancel", {"force": force}))

    async def pause(self, task_id: str) -> Task:
        return await self._run_call(programs.act(task_id, "pause"))

    async def resume(self, task_id: str) -> Task:
        return await self._run_call(programs.act(task_id, "resume"))

    async def retry(self, task_id: str, payload: Mapping[str, Any] | None = None) -> Task:
        return await self._run_call(programs.act(task_id, "retry", None if payload is None else {"payload": payload}))

    async def dismiss(self, task_id: str) -> Task:
        return await self._run_call(programs.act(task_id, "dismiss"))

    async def delete(self, task_id: str) -> None:
        await self._run_call(programs.delete(task_id))

    async def attempts(self, task_id: str) -> builtins.list[Attempt]:
        return await self._run_call(programs.attempts(task_id))

    def events(self, task_id: str, after: int = 0) -> AsyncGenerator[Event, None]:
        """Yields the history that there is, from the first event after `after`."""
        return self._iterate(programs.list_events(task_id, after, self._patience))

    def export(
        self,
        *,
        since: str | None = None,
        until: str | None = None,
        after: str | None = None,
        tenant: str | None = None,
    ) -> AsyncGenerator[str, None]:
        """As Client.export."""
        params = {"since": since, "until": until, "after": after, "tenant": tenant}
        return self._iterate(exporting.export(params, self._patience))

    async def request(
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
        return await self._run_call(programs.request(method, path, params or {}, json, idempotency_key))

    def pages(self, path: str, **params: Any) -> AsyncGenerator[dict[str, Any], None]:
        """Yields the items of any list."""
        return self._iterate(programs.iterate(Call("GET", path, params), dict, self._patience))

    def follow(
        self,
        path: str,
        after: int | None = None,
        *,
        state_path: str | None = None,
        on_lost: Callable[[], None] | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Follows any stream. `state_path`: what the stream follows, if it has an end. `on_lost` is called while there
        is no connection."""
        stream = following.Stream(path, after, state_path=state_path, patience=self._patience, on_lost=on_lost)
        return self._iterate(stream.follow())

    async def _run_call(self, call: Call[_T]) -> _T:
        return await self._run(programs.call(call, self._patience))

    async def _run(self, program: Program[_T]) -> _T:
        exchange = _Exchange(self._http, self._timeout)
        reply: Reply = None
        try:
            while True:
                reply = await exchange.perform(program.send(reply))
        except StopIteration as end:
            result: _T = end.value
            return result
        finally:
            await exchange.close()

    async def _iterate(self, program: Emitting[_T]) -> AsyncGenerator[_T, None]:
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
                    reply = await exchange.perform(step)
        finally:
            await exchange.close()


class _Exchange:
    """Performs the steps of one program. Holds at most one open stream."""

    def __init__(self, http: httpx2.AsyncClient, timeout: float) -> None:
        self._http = http
        self._timeout = timeout
        self._response: httpx2.Response | None = None
        self._frames: AsyncIterator[Frame] | None = None

    async def perform(self, step: Effect) -> Reply:
        try:
            match step:
                case Send():
                    return _to_answer(await self._http.send(self._http.build_request(**make_arguments(step.request))))
                case Open():
                    return await self._open(step)
                case Read():
                    return (None if self._frames is None else await anext(self._frames, None)) or End()
                case Sleep():
                    await anyio.sleep(step.seconds)
                    return None
        except httpx2.TransportError as failure:
            await self.close()
            return to_lost(failure)

    async def close(self) -> None:
        if self._response is not None:
            await self._response.aclose()
            self._response = None

    async def _open(self, step: Open) -> Answer:
        await self.close()
        timeout = httpx2.Timeout(self._timeout, read=step.silence)
        request = self._http.build_request(**make_arguments(step.request), timeout=timeout)
        response = await self._http.send(request, stream=True)
        if response.status_code == 200:
            self._response = response
            self._frames = _read_lines(response) if step.lines else _read_events(response)
            return Answer(200, response.headers, b"")
        try:
            await response.aread()
        finally:
            await response.aclose()
        return _to_answer(response)


async def _read_events(response: httpx2.Response) -> AsyncIterator[Frame]:
    async for event in httpx2.EventSource(response, LARGEST_EVENT):
        yield Frame(event.event, event.data, event.id)


async def _read_lines(response: httpx2.Response) -> AsyncIterator[Frame]:
    splitter = LineSplitter()
    async for chunk in response.aiter_bytes():
        for line in splitter.split(chunk):
            yield line
    splitter.end()


def _to_answer(response: httpx2.Response) -> Answer:
    return Answer(response.status_code, response.headers, response.content)
