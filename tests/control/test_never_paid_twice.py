"""A media task whose worker is killed at twenty different points completes, and pays its provider once."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import actors  # noqa: F401  (declares the kinds of work)
from state import get_attempts, get_task, submit
from tests.providers.servers import MidjourneyServer, midjourney
from tests.support.eventually import eventually
from tests.support.workers import WorkerTree

POINTS = range(9, 29)  # from just before the provider is asked until the task's end is written
ACTORS = "actors,tests.control.killpoints"


def test_a_provider_is_paid_once_although_the_worker_is_killed_twenty_times(
    worker: Callable[..., WorkerTree], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = tmp_path / "plan"
    plan.mkdir()
    tasks: dict[str, str] = {}
    with MidjourneyServer(can_cancel=True) as server:
        for name, value in {
            "KILL_PLAN": str(plan),
            "MIDJOURNEY_BASE_URL": server.base_url,
            "MIDJOURNEY_API_KEY": midjourney.SECRET,
            "CALLBOARD_DOWNLOAD_TRUSTED_HOSTS": f"127.0.0.1:{server.port}",
        }.items():
            monkeypatch.setenv(name, value)
        for point in POINTS:
            prompt = f"cat-{point}"
            (plan / prompt).write_text(str(point))
            request = {"provider": "midjourney", "prompt": prompt}
            tasks[prompt] = submit("media_generation", request).task_id

        def all_done() -> bool:
            return {get_task(task_id).status for task_id in tasks.values()} == {"completed"}

        while not all_done():  # each worker meets one of the points and dies, but for the last
            tree = worker(coroutines=1, actors=ACTORS)
            eventually(lambda: tree.process.poll() is not None or all_done(), timeout=60, every=0.1)  # noqa: B023
        assert len(list(plan.iterdir())) <= 1  # a poll less, and the last point is never met
        asked = Counter(job.prompt for job in server.jobs.all())
    assert asked == dict.fromkeys(tasks, 1)
    for task_id in tasks.values():
        assert [each["outcome"] for each in get_attempts(task_id)] in (["lost", "completed"], ["completed"])
        assert len(get_task(task_id).result["content_ids"]) == 1
    met = {line.split(maxsplit=2)[2] for line in (tmp_path / "steps.txt").read_text().splitlines()}
    assert {"after request", "after save", "before download", "before store_file", "before try_settle"} <= met
