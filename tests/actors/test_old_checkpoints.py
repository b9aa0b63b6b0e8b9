"""A generation that another release has begun goes on with its job: what a checkpoint contains does not change."""

import json
from typing import Any

import pytest

from state import submit
from tests.actors.conftest import Start
from tests.actors.test_media import media
from tests.actors.test_media_crashes import check_completed_once
from tests.providers.servers import MidjourneyServer
from tests.support.observer import Observer

# Of the request below, made by release 23.
FINGERPRINT = "76d26e88e4756b8d5ec57837f75cb0b518303354a8cf549c76b54a3890a11cec"
KEY = "tq_01a1ecd548317164aca397e2bcf9e7e5.1"


@pytest.mark.parametrize("moment", ["submitting", "polling"])
def test_a_job_that_another_release_has_submitted_is_not_submitted_again(
    moment: str, start: Start, trusted: None, midjourney_server: MidjourneyServer, connection: Observer
) -> None:
    job = midjourney_server.jobs.start("IMAGINE", {"prompt": "a cat", "state": KEY})
    saved: dict[str, Any] = {"request": FINGERPRINT, "submitting": KEY, "unanswered": None, "job": None}
    if moment == "polling":
        saved |= {"submitting": None, "job": {"id": job.id}}
    task_id = submit("media_generation", media("midjourney")).task_id
    connection.execute("UPDATE callboard.tasks SET checkpoint = %s WHERE id = %s", [json.dumps(saved), task_id])
    start()
    check_completed_once(task_id, midjourney_server)
