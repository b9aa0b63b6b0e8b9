"""A proxy in front of Postgres that behaves as networks do at their worst: it falls silent without closing anything,
and cuts a connection just before or just after a COMMIT."""

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Literal

When = Literal["before", "after"]
Pair = tuple[asyncio.StreamWriter, asyncio.StreamWriter]  # to the client, to the server

_CHUNK = 65536


class PostgresProxy:
    """Runs in a thread of its own. `target`: the server's socket."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._pairs: set[Pair] = set()
        self._answerless: set[Pair] = set()  # what the server answers next is not passed on
        self._dropped: set[Pair] = set()  # they carry nothing any more
        self._armed: When | None = None
        self._cut = 0
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self.port = self._call(self._listen())

    def _call(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    async def _listen(self) -> int:
        self._talking = asyncio.Event()
        self._talking.set()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def close(self) -> None:
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        self._talking.set()
        await self._cut_all()
        current = asyncio.current_task()
        others = [task for task in asyncio.all_tasks() if task is not current]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    # Faults, for any thread.

    def fall_silent(self) -> int:
        """Nothing arrives at the other side any more, and nobody is told. Returns how many connections it has."""
        self._loop.call_soon_threadsafe(self._talking.clear)
        return len(self._pairs)

    def talk(self, *, cut: bool) -> None:
        """What was held back arrives, or all connections end."""
        if cut:
            self._call(self._cut_all())
        self._loop.call_soon_threadsafe(self._talking.set)

    def drop_packets(self) -> int:
        """The connections that there are never carry anything again, and stay open. New ones are not hit. Returns how
        many there are."""
        dropped = set(self._pairs)
        self._dropped |= dropped
        return len(dropped)

    def cut_next_commit(self, when: When) -> None:
        self._armed = when

    @property
    def cuts(self) -> int:
        """Connections that were cut at their COMMIT."""
        return self._cut

    # On the loop.

    async def _accept(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        try:
            server, to_server = await asyncio.open_unix_connection(self._target)
        except OSError:
            to_client.close()
            return
        pair = (to_client, to_server)
        self._pairs.add(pair)
        try:
            async with asyncio.TaskGroup() as pumps:
                pumps.create_task(self._pump(client, to_server, pair, from_client=True))
                pumps.create_task(self._pump(server, to_client, pair, from_client=False))
        finally:
            self._pairs.discard(pair)
            self._answerless.discard(pair)
            self._dropped.discard(pair)

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, pair: Pair, *, from_client: bool
    ) -> None:
        with suppress(OSError):
            while data := await source.read(_CHUNK):
                await self._talking.wait()
                if pair in self._dropped:
                    continue
                if from_client and b"COMMIT" in data and self._armed is not None:
                    when, self._armed = self._armed, None
                    self._cut += 1
                    if when == "before":
                        break
                    self._answerless.add(pair)
                elif not from_client and pair in self._answerless:
                    break
                sink.write(data)
                await sink.drain()
        for writer in pair:
            writer.close()

    async def _cut_all(self) -> None:
        for pair in list(self._pairs):
            for writer in pair:
                writer.transport.abort()
