"""A client of server-sent events that hides nothing: comments and retry are events too."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2


@dataclass
class Sent:
    """One block of the stream, field by field."""

    id: str | None = None
    event: str | None = None
    data: Any = None
    retry: str | None = None
    comments: list[str] = field(default_factory=list)


def blocks(lines: Iterator[str]) -> Iterator[Sent]:
    block, empty = Sent(), True
    for line in lines:
        if not line:
            if not empty:
                yield block
            block, empty = Sent(), True
            continue
        empty = False
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "":
            block.comments.append(value)
        elif name == "data":
            block.data = json.loads(value)
        else:
            setattr(block, name, value)


@contextmanager
def follow(client: httpx2.Client, path: str, **headers: str) -> Iterator[Iterator[Sent]]:
    with client.stream("GET", path, headers=headers) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield blocks(response.iter_lines())


def read_all(client: httpx2.Client, path: str, **headers: str) -> list[Sent]:
    """Everything until the server closes, without the first line, which is always `retry`."""
    with follow(client, path, **headers) as sent:
        first, *rest = list(sent)
    assert first.retry == "2000"
    return rest
