"""Readers of tasks' histories: clients of server-sent events that come back with Last-Event-ID, at any server, whenever
their connection ends. Each writes down what it got."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx2

from deploy.prove.waiting import NotInTime, wait_until

_PAUSE = 0.3  # seconds between two connections
_LEAVES = 0.05  # chance at each event that a reader closes its connection, as a page that is reloaded
_SILENCE = 40.0  # seconds; a server sends a comment every 15


@dataclass(slots=True)
class Story:
    """What one reader was told. `position`: the number before the first event that it must get; unknown until the
    snapshot if it asked for one."""

    task: str
    position: int | None
    events: list[tuple[int, str]] = field(default_factory=list)
    last: int | None = None  # the number that `done` brought
    connections: int = 0

    @property
    def last_seen(self) -> int | None:
        return self.events[-1][0] if self.events else self.position


class Readers:
    def __init__(self, ports: Sequence[int]) -> None:
        self.stories: list[Story] = []
        self._ports = ports
        self._loop = asyncio.new_event_loop()
        self._tasks: list[asyncio.Task[None]] = []
        self._thread = threading.Thread(target=self._run, name="readers", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    def follow(self, task: str, *, snapshot: bool) -> None:
        story = Story(task, None if snapshot else 0)
        self.stories.append(story)
        self._loop.call_soon_threadsafe(self._start, story)

    def _start(self, story: Story) -> None:
        self._tasks.append(self._loop.create_task(self._read(story)))

    def close(self, seconds: float) -> None:
        """Waits until all have been told the end of their task."""
        with suppress(NotInTime):  # the judge finds who has not
            wait_until(lambda: all(story.last is not None for story in self.stories), seconds, "all streams have ended")
        asyncio.run_coroutine_threadsafe(self._cancel(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    async def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _read(self, story: Story) -> None:
        dice = Random(story.task)  # noqa: S311
        timeout = httpx2.Timeout(10, read=_SILENCE)
        async with httpx2.AsyncClient(timeout=timeout, trust_env=False) as client:
            while story.last is None:
                story.connections += 1
                with suppress(httpx2.HTTPError, json.JSONDecodeError):
                    await self._read_once(client, story, dice)
                await asyncio.sleep(dice.uniform(0.5, 1.5) * _PAUSE)

    async def _read_once(self, client: httpx2.AsyncClient, story: Story, dice: Random) -> None:
        port = dice.choice(self._ports)
        seen = story.last_seen
        headers, query = {}, ""
        if story.events or (seen is not None and dice.random() < 0.5):
            headers["Last-Event-ID"] = str(seen)
        elif seen is not None:
            query = f"?after={seen}"
        url = f"http://127.0.0.1:{port}/api/v1/tasks/{story.task}/stream{query}"
        async with client.stream("GET", url, headers=headers) as response:
            if response.status_code == httpx2.codes.NO_CONTENT:  # that was the last event
                story.last = seen
            if response.status_code != httpx2.codes.OK:
                return
            async for name, number, data in _parse(response.aiter_lines()):
                if name == "snapshot":
                    story.position = number
                elif name == "done":
                    story.last = number
                    return
                else:
                    agrees = data["n"] == number and data["kind"] == name
                    story.events.append((number, name if agrees else f"not {data['kind']} {data['n']}"))
                if dice.random() < _LEAVES:
                    return


async def _parse(lines: AsyncIterator[str]) -> AsyncIterator[tuple[str, int, dict[str, Any]]]:
    """Yields event, id and data of each whole event."""
    fields: dict[str, str] = {}
    async for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        else:
            if "data" in fields:
                yield fields["event"], int(fields["id"]), json.loads(fields["data"])
            fields = {}
