"""From a submission over HTTP, through a real worker, to the result and the complete history."""

from collections.abc import Callable
from typing import Any

import httpx2

from tests.support.eventually import eventually
from tests.support.following import follow, read_all
from tests.support.workers import WorkerTree


def test_a_picture_is_made_after_its_watcher_disconnects(
    client: httpx2.Client, worker: Callable[..., WorkerTree]
) -> None:
    worker()
    payload = {
        "provider": "local",
        "prompt": "a lighthouse",
        "params": {"width": 64, "height": 64, "step_seconds": 0.05},
    }
    task = client.post("/api/task", json={"actor": "media_generation", "payload": payload}).json()
    with follow(client, task["links"]["stream"]) as sent:
        progress = (frame for frame in sent if frame.event == "progress")
        first, second = next(progress), next(progress)
    assert int(first.id or 0) < int(second.id or 0)

    def get_finished() -> dict[str, Any] | None:
        shown: dict[str, Any] = client.get(task["links"]["self"]).json()
        return shown if shown["finished_at"] else None

    done = eventually(get_finished, what="the task is finished")
    assert (done["status"], done["progress"]["percent"], done["attempt"]) == ("completed", 100, 1)
    [url] = done["result"]["urls"]
    picture = client.get(url)
    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/png")
    assert picture.content.startswith(b"\x89PNG")

    whole = [event["n"] for event in client.get(f"{task['links']['events']}?limit=500").json()["items"]]
    later = read_all(client, task["links"]["stream"], **{"Last-Event-ID": second.id or ""})
    assert [int(frame.id or 0) for frame in later if frame.event != "done"] == whole[int(second.id or 0) :]
    assert (later[-1].event, later[-1].data) == ("done", done)
    assert client.get(task["links"]["stream"], headers={"Last-Event-ID": later[-1].id or ""}).status_code == 204


def test_a_summary_is_streamed_sentence_by_sentence(client: httpx2.Client, worker: Callable[..., WorkerTree]) -> None:
    worker()
    text = "The first thing is light. The second thing is sound. The third thing is neither light nor sound."
    task = client.post("/api/v1/tasks/summarize", json={"content": text, "max_sentences": 2}).json()
    frames = read_all(client, f"{task['links']['stream']}?after=0")
    tokens = [frame.data["data"]["text"] for frame in frames if frame.event == "token"]
    assert tokens
    assert "".join(tokens) == frames[-1].data["result"]["summary"]
