"""What became of a task."""

from state import Task, get_task
from state.media.contents import get_content, read_content
from tests.support.eventually import eventually


def ended(task_id: str, timeout: float = 40) -> Task:
    return eventually(lambda: (task := get_task(task_id)).finished and task, timeout, what=f"{task_id} ended")


def rested(task_id: str, attempt: int = 1) -> Task:
    """After its n-th attempt: finished, or waiting for the next one."""
    return eventually(
        lambda: (
            (task := get_task(task_id)).attempt >= attempt and (task.finished or task.status == "scheduled") and task
        ),
        what=f"attempt {attempt} of {task_id} over",
    )


def delay_of(task: Task) -> float:
    return (task.available_at - task.updated_at).total_seconds()


def stored_bytes(task: Task) -> list[bytes]:
    return [read_content(get_content(content_id)) for content_id in task.result["content_ids"]]
