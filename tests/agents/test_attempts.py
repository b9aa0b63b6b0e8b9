"""Agent tasks have three attempts, with pauses of attempts² x 5 s, and are then dead letters."""

import os
import socket
from collections.abc import Callable

from state import get_attempts, list_dead_letters, submit
from tests.agents import failing  # noqa: F401  (declares the agent)
from tests.support.clock import Clock
from tests.support.eventually import eventually
from tests.support.following import get_delay, get_error, wait_for_attempt, wait_until_finished
from tests.support.workers import WorkerTree


def test_three_attempts_and_the_pauses_between_them(worker: Callable[..., WorkerTree], clock: Clock) -> None:
    tree = worker(actors="actors,tests.agents.failing")
    task_id = submit("agent", {"agent_name": "failing", "task_type": "always", "input": {}}).task_id
    for attempt, seconds in ((1, 5), (2, 20)):
        task = wait_for_attempt(task_id, attempt)
        assert (task.status, task.attempt) == ("scheduled", attempt)
        assert seconds <= get_delay(task) <= seconds * 1.1 + 0.1  # a tenth of it by chance
        clock.advance(seconds * 1.1 + 1)
    dead = wait_until_finished(task_id)
    assert (dead.status, dead.attempt, dead.max_attempts) == ("dead", 3, 3)
    assert get_error(dead)["message"] == "attempt 3 of 3"
    assert [each.task_id for each in list_dead_letters(agent_name="failing", task_type="always")] == [task_id]
    # The worker's name has the host's and the process's.
    [process] = eventually(tree.children)
    for row in get_attempts(task_id):
        assert row["worker_id"].startswith(socket.gethostname())
        assert str(process.pid) in row["worker_id"]
    assert process.pid != os.getpid()
