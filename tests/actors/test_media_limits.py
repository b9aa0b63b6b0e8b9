"""A provider's limit holds over all processes, counted at the provider."""

import pytest

from state.tasks import catalog
from tests.actors.following import ended
from tests.actors.test_media import submit_media


@pytest.mark.skipif(catalog.get("media_generation").gates is None, reason="the media actor names no gates yet")
def test_never_more_at_once_than_a_provider_allows(start, trusted, leonardo_server, midjourney_server):
    leonardo_server.jobs.seconds = 0.6  # long enough that three meet there, also on a busy machine
    midjourney_server.jobs.seconds = 0.1
    ids = [submit_media(provider=name) for _ in range(20) for name in ("leonardo", "midjourney")]
    start(processes=3, threads=8)
    assert {ended(task_id, timeout=90).status for task_id in ids} == {"completed"}
    for server, most in ((leonardo_server, 3), (midjourney_server, 1)):
        assert (server.jobs.submissions, server.jobs.most_running) == (20, most)
