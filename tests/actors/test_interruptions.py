"""A generation is interrupted wherever it waits. Interrupts of a submission are in test_media_crashes.py."""

from collections.abc import Callable

from state import cancel
from tests.actors.test_media import submit_media
from tests.providers.servers import MidjourneyServer
from tests.support.eventually import eventually
from tests.support.following import wait_until_finished
from tests.support.workers import WorkerTree


def test_a_cancel_ends_the_pause_between_two_polls(
    worker: Callable[..., WorkerTree], trusted: None, midjourney_server: MidjourneyServer
) -> None:
    worker(actors="actors,tests.actors.slowpolls")
    task_id = submit_media(provider="midjourney")
    eventually(lambda: [job.polls for job in midjourney_server.jobs.all()] == [1], what="the first poll")
    cancel(task_id)
    assert wait_until_finished(task_id).status == "canceled"
    assert midjourney_server.jobs.all()[0].canceled
