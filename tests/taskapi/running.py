"""The real server on a real socket, in a thread of this process."""

import asyncio
import threading

import httpx2
import uvicorn
from starlette.applications import Starlette

from taskapi import create_app
from taskapi.feed import Feed, Pace


class RunningServer:
    def __init__(self, pace: Pace | None = None) -> None:
        self.app: Starlette = create_app(pace)
        config = uvicorn.Config(
            self.app, host="127.0.0.1", port=0, log_config=None, lifespan="on", timeout_graceful_shutdown=3
        )
        self._server = uvicorn.Server(config)
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="server")

    def __enter__(self) -> "RunningServer":
        self._thread.start()
        assert self._started.wait(10), "the server did not start"
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.address = ("127.0.0.1", port)
        self.url = f"http://127.0.0.1:{port}"
        self.client = httpx2.Client(base_url=self.url, timeout=20, trust_env=False)
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.loop.call_soon_threadsafe(self.feed.close)  # no signal tells a server in a thread that it is to stop
        self._server.should_exit = True
        self._thread.join(15)
        assert not self._thread.is_alive(), "the server did not stop"

    @property
    def feed(self) -> Feed:
        feed: Feed = self.app.state.feed
        return feed

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        serving = asyncio.create_task(self._server.serve())
        while not self._server.started and not serving.done():
            await asyncio.sleep(0.005)
        self._started.set()
        await serving
