"""The application in this process: commands without a server use the same routes as those with one."""

import asyncio
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from deploy.cli.person import find_person
from taskapi import create_app

_POLL = 0.002


@contextmanager
def serve_locally(*, actors: bool) -> Iterator[str]:
    """Yields the path of a Unix socket, in a folder that nobody else can enter. Whoever reaches it may do everything:
    so may everybody who has the address of the database, as this process does."""
    with tempfile.TemporaryDirectory(prefix="callboard-") as folder:
        path = str(Path(folder) / "http")
        server = _Server(path, actors)
        server.start()
        try:
            yield path
        finally:
            server.stop()


class _Server:
    def __init__(self, path: str, actors: bool) -> None:
        self._app = create_app(caller=find_person(), import_actors=actors)
        config = uvicorn.Config(
            self._app, uds=path, log_config=None, access_log=False, lifespan="on", ws="none", loop="asyncio",
            timeout_graceful_shutdown=1,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="server", daemon=True)
        self._failure: BaseException | None = None

    def start(self) -> None:
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise self._failure or RuntimeError("The application has not started.")
            time.sleep(_POLL)

    def stop(self) -> None:
        """Ends the streams first: the server waits for them."""
        for streams in (self._app.state.feed, self._app.state.queue_watch):
            self._loop.call_soon_threadsafe(streams.close)
        self._server.should_exit = True
        self._thread.join(10)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as failure:
            self._failure = failure

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._server.serve()
