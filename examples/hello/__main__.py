"""Submits a task, and waits until a worker has finished it."""

import sys
import time

import actors  # noqa: F401  (sets the broker; must come before the actors of this package)
from examples.hello.actors import Greeting, greet
from state import get_task


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "world"
    task_id = greet.send(Greeting(name=name)).message_id
    print(f"Submitted {task_id}")
    while not (task := get_task(task_id)).finished:
        time.sleep(0.1)
    if task.status != "completed":
        sys.exit(f"{task.status}: {task.error}")
    print(task.result["text"])


if __name__ == "__main__":
    main()
