"""Generations wait for their providers without threads: as many at once in one process as it may run coroutines."""

from collections.abc import Callable

import pytest

from actors.media import MediaRequest, provider_gate
from state import cancel, get_events
from state.gates.declarations import declare
from state.gates.operations import put_gate
from tests.actors.conftest import Start
from tests.actors.test_media import media, submit_media
from tests.providers.servers import MidjourneyServer
from tests.providers.servers.jobs import picture
from tests.support.eventually import eventually
from tests.support.following import read_contents, wait_until_finished

MANY = 100


def test_a_hundred_wait_for_a_slow_provider_and_hold_up_nobody(
    start: Start,
    trusted: None,
    midjourney_server: MidjourneyServer,
    monkeypatch: pytest.MonkeyPatch,
    nothing_partial: Callable[[], None],
) -> None:
    server = midjourney_server
    monkeypatch.setenv("MIDJOURNEY_TIMEOUT", "120")
    declare(provider_gate(MediaRequest(**media("midjourney"))))
    put_gate("provider:midjourney", max_concurrent=MANY)
    server.faults.add("poll", *["slow"] * MANY)
    ids = [submit_media(provider="midjourney") for _ in range(MANY)]
    tree = start(threads=2, coroutines=MANY + 1)
    eventually(lambda: server.faults.slow == MANY, what=f"{MANY} polls wait for their answers")
    large = submit_media(params={"steps": 1, "step_seconds": 0, "width": 2048, "height": 2048})
    assert wait_until_finished(large).status == "completed"

    canceled = ids[:10]
    for task_id in canceled:
        cancel(task_id)
    for task_id in canceled:
        assert wait_until_finished(task_id).status == "canceled"
        receipts = [event.data for event in get_events(task_id) if event.data.get("stage") == "provider canceled"]
        assert [(each["provider"], each["stopped"]) for each in receipts] == [("midjourney", True)]

    server.faults.let_go()
    finished = [wait_until_finished(task_id) for task_id in ids[10:]]
    assert {task.status for task in finished} == {"completed"}
    drawn = {content for task in finished for content in read_contents(task)}
    assert drawn == {picture(job.id, 0) for job in server.jobs.all() if not job.canceled}
    assert (len(drawn), server.jobs.submissions) == (MANY - 10, MANY)
    assert "blocks the event loop" not in tree.log.read_text()
    nothing_partial()
