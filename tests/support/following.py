"""Following tasks: as a client of server-sent events, through the verbs of `state`, and in files that actors write."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from state import Task, get_events, get_task
from state.media.contents import get_content, read_content
from tests.support.eventually import eventually


@dataclass
class Frame:
    """A frame of a stream. Comments and `retry` are frames too."""

    id: str | None = None
    event: str | None = None
    data: Any = None
    retry: str | None = None
    comments: list[str] = field(default_factory=list)


@contextmanager
def follow(client: httpx2.Client, path: str, **headers: str) -> Iterator[Iterator[Frame]]:
    with client.stream("GET", path, headers=headers) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield parse_frames(response.iter_lines())


def read_all(client: httpx2.Client, path: str, **headers: str) -> list[Frame]:
    """Returns all frames until the server closes the stream, without the first one, which is always `retry`."""
    with follow(client, path, **headers) as frames:
        first, *rest = list(frames)
    assert first.retry == "2000"
    return rest


def parse_frames(lines: Iterator[str]) -> Iterator[Frame]:
    frame, empty = Frame(), True
    for line in lines:
        if not line:
            if not empty:
                yield frame
            frame, empty = Frame(), True
            continue
        empty = False
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "":
            frame.comments.append(value)
        elif name == "data":
            frame.data = json.loads(value)
        else:
            setattr(frame, name, value)


def wait_until_finished(task_id: str, timeout: float = 40) -> Task:
    return _wait(task_id, lambda task: task.finished, timeout, "is finished")


def wait_for_status(task_id: str, status: str, timeout: float = 30) -> Task:
    return _wait(task_id, lambda task: task.status == status, timeout, f"is {status}")


def wait_for_attempt(task_id: str, attempt: int = 1, timeout: float = 30) -> Task:
    """Returns the task when its n-th attempt is over: it is finished, or scheduled for the next attempt."""

    def is_over(task: Task) -> bool:
        return task.attempt >= attempt and (task.finished or task.status == "scheduled")

    return _wait(task_id, is_over, timeout, f"has ended attempt {attempt}")


def _wait(task_id: str, has_arrived: Callable[[Task], bool], timeout: float, what: str) -> Task:
    def look() -> Task | None:
        task = get_task(task_id)
        return task if has_arrived(task) else None

    return eventually(look, timeout, what=f"{task_id} {what}")


def get_error(task: Task) -> dict[str, Any]:
    assert task.error is not None
    return task.error


def get_delay(task: Task) -> float:
    """Returns the seconds between the end of an attempt and the next one."""
    return (task.available_at - task.updated_at).total_seconds()


def get_stages(task_id: str) -> list[str]:
    """Returns the stages of a task's cancel or pause."""
    return [event.data["stage"] for event in get_events(task_id) if event.kind == "control"]


def read_contents(task: Task) -> list[bytes]:
    return [read_content(get_content(content_id)) for content_id in task.result["content_ids"]]


def read_lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def wait_for_line(file: Path, text: str, count: int = 1) -> None:
    """Waits until at least `count` lines of the file contain the text."""
    eventually(lambda: sum(text in line for line in read_lines(file)) >= count, what=f"{count} x {text!r} in {file}")
