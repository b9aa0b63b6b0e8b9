"""The promise: whoever watches or does not, the work goes on, and everybody can see what happened."""

from collections.abc import Callable
from typing import Any

import httpx2

from tests.support.eventually import eventually
from tests.support.workers import WorkerTree
from tests.taskapi.following import follow, read_all


def test_a_picture_is_made_though_its_watcher_leaves(client: httpx2.Client, worker: Callable[..., WorkerTree]) -> None:
    worker()
    payload = {
        "provider": "local",
        "prompt": "a lighthouse",
        "params": {"width": 64, "height": 64, "step_seconds": 0.05},
    }
    task = client.post("/api/task", json={"actor": "media_generation", "payload": payload}).json()
    with follow(client, task["links"]["stream"]) as sent:
        progress = (line for line in sent if line.event == "progress")
        first, second = next(progress), next(progress)
    assert int(first.id or 0) < int(second.id or 0)

    def ended() -> dict[str, Any] | None:
        shown: dict[str, Any] = client.get(task["links"]["self"]).json()
        return shown if shown["finished_at"] else None

    done = eventually(ended, what="it is finished")
    assert (done["status"], done["progress"]["percent"], done["attempt"]) == ("completed", 100, 1)
    [url] = done["result"]["urls"]
    picture = client.get(url)
    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/png")
    assert picture.content.startswith(b"\x89PNG")

    whole = [line["n"] for line in client.get(f"{task['links']['events']}?limit=500").json()["items"]]
    later = read_all(client, task["links"]["stream"], **{"Last-Event-ID": second.id or ""})
    assert [int(line.id or 0) for line in later if line.event != "done"] == whole[int(second.id or 0) :]
    assert (later[-1].event, later[-1].data) == ("done", done)
    assert client.get(task["links"]["stream"], headers={"Last-Event-ID": later[-1].id or ""}).status_code == 204


def test_a_summary_is_told_sentence_by_sentence(client: httpx2.Client, worker: Callable[..., WorkerTree]) -> None:
    worker()
    text = "The first thing is light. The second thing is sound. The third thing is neither light nor sound."
    task = client.post("/api/v1/tasks/summarize", json={"content": text, "max_sentences": 2}).json()
    lines = read_all(client, f"{task['links']['stream']}?after=0")
    tokens = [line.data["data"]["text"] for line in lines if line.event == "token"]
    assert tokens
    assert "".join(tokens) == lines[-1].data["result"]["summary"]
