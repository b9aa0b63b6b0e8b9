"""The real server on a real socket, in a thread of this process: as `callboard up` starts it, or plain uvicorn."""

import asyncio
import threading
from typing import Any

import httpx2
import uvicorn
from starlette.applications import Starlette

from taskapi import create_app
from taskapi.guard.connections import Connection
from taskapi.streams.feed import Feed, Pace
from tests.support.eventually import eventually


class RunningServer:
    def __init__(self, pace: Pace | None = None, http: Any = Connection, loop: Any = "auto") -> None:
        self.app: Starlette = create_app(pace)
        config = uvicorn.Config(
            self.app, host="127.0.0.1", port=0, log_config=None, lifespan="on", timeout_graceful_shutdown=3, http=http,
            loop=loop,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="server")

    def __enter__(self) -> "RunningServer":
        self._thread.start()
        eventually(lambda: self._server.started or not self._thread.is_alive(), what="the server started")
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.address = ("127.0.0.1", port)
        self.url = f"http://127.0.0.1:{port}"
        json = {"Content-Type": "application/json"}  # also for bodies that are sent as bytes
        self.client = httpx2.Client(base_url=self.url, headers=json, timeout=20, trust_env=False)
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        for streams in (self.feed, self.app.state.queue_watch):  # no signal tells a server in a thread to stop
            self.loop.call_soon_threadsafe(streams.close)
        self._server.should_exit = True
        self._thread.join(15)
        assert not self._thread.is_alive(), "the server did not stop"

    @property
    def feed(self) -> Feed:
        feed: Feed = self.app.state.feed
        return feed

    def count_subscriptions(self) -> int:
        """Counts the streams that have subscribed to the feed. Runs in the thread of the server."""

        async def count() -> int:
            return len(self.feed.list_subscriptions())

        return asyncio.run_coroutine_threadsafe(count(), self.loop).result(10)

    def count_unsent(self) -> list[int]:
        """Returns the bytes that wait in the transport of each connection. Runs in the thread of the server."""

        async def count() -> list[int]:
            connections = self._server.server_state.connections
            return [connection.transport.get_write_buffer_size() for connection in connections]

        return asyncio.run_coroutine_threadsafe(count(), self.loop).result(10)

    def count_requests(self) -> int:
        """Counts the requests that are under way."""
        return len(self._server.server_state.tasks)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=self._server.config.get_loop_factory()) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        await self._server.serve()
