"""A provider's limit holds over all processes, and is used in full, counted at the provider."""

import math

from state import get_task
from tests.actors.conftest import Start
from tests.actors.test_media import submit_media
from tests.providers.servers import LeonardoServer, MidjourneyServer
from tests.support.eventually import eventually
from tests.support.following import wait_until_finished

TASKS = 20


def count_waiting(task_ids: list[str]) -> int:
    return sum(get_task(task_id).status == "waiting" for task_id in task_ids)


def test_never_more_at_once_than_a_provider_allows_and_not_fewer(
    start: Start, trusted: None, leonardo_server: LeonardoServer, midjourney_server: MidjourneyServer
) -> None:
    limits = ((leonardo_server, "leonardo", 3), (midjourney_server, "midjourney", 1))
    ids = {}
    for server, name, _ in limits:
        server.jobs.seconds = math.inf  # no job ends before all are there that may be, however slow the machine is
        ids[name] = [submit_media(provider=name) for _ in range(TASKS)]
    start(processes=3, threads=8)
    for server, name, limit in limits:
        eventually(lambda: count_waiting(ids[name]) == TASKS - limit, what=f"{name}: the others wait")  # noqa: B023
        eventually(lambda: server.jobs.most_running == limit, what=f"{name}: {limit} run")  # noqa: B023
    for server, _, _ in limits:
        server.jobs.seconds = 0.1  # long enough to overlap with another job, if the limit allowed one
        for job in server.jobs.all():
            job.seconds = 0.1
    for server, name, limit in limits:
        assert {wait_until_finished(task_id, timeout=90).status for task_id in ids[name]} == {"completed"}
        assert (server.jobs.submissions, server.jobs.most_running) == (TASKS, limit)
