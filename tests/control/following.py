"""What tests of running tasks submit to, and wait for."""

from pathlib import Path

import actors  # noqa: F401  (sets the broker)
from state import Task, get_events, get_task
from tests.support import controlactors  # noqa: F401  (declares the actors that the tests submit to)
from tests.support.eventually import eventually


def ended(task_id: str, timeout: float = 30) -> Task:
    return eventually(lambda: (task := get_task(task_id)).finished and task, timeout, what=f"{task_id} ended")


def reached(task_id: str, status: str, timeout: float = 30) -> Task:
    return eventually(
        lambda: (task := get_task(task_id)).status == status and task, timeout, what=f"{task_id} is {status}"
    )


def lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def said(file: Path, text: str, count: int = 1) -> None:
    eventually(lambda: sum(text in line for line in lines(file)) >= count, what=f"{count} x {text!r} in {file}")


def stages(task_id: str) -> list[str]:
    return [event.data["stage"] for event in get_events(task_id) if event.kind == "control"]
