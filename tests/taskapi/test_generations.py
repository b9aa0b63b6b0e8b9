"""Generations and prompts over HTTP."""

from collections.abc import Callable
from typing import Any

import httpx2

from state.media.contents import StoredBytes
from state.media.generations import begin_generation, finish_generation
from state.tasks.ids import new_generation_id, new_task_id
from tests.taskapi.fake_worker import WORKER_ID, FakeWorker
from tests.taskapi.problems import expect_problem

Submit = Callable[..., dict[str, Any]]

SIGNED = "https://s3/x?X-Amz-Signature=secret-of-a-provider&n=1"


def test_a_generation(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    submit(tenant="acme")
    task = fake_worker.start()
    asked: dict[str, Any] = {"provider": "local", "action_type": "txt2img", "prompt": "a lighthouse", "prompt_id": None}
    begun = begin_generation(WORKER_ID, task.id, task.epoch, **asked, request={"width": 64})
    path = f"/api/v1/generations/{begun.id}"
    found = client.get(path).json()
    assert (found["id"], found["task_id"], found["tenant"]) == (begun.id, task.id, "acme")
    assert (found["prompt"], found["request"], found["contents"]) == ("a lighthouse", {"width": 64}, [])
    assert (found["task_status"], found["raw_response"], found["error"]) == ("running", None, None)
    stored = StoredBytes(sha256="0" * 64, size=7, media_type="image/png")
    [content_id] = finish_generation(
        WORKER_ID, task.id, task.epoch, raw_response={"id": 5, "upload_url": SIGNED}, contents=[stored]
    )
    fake_worker.complete(task)
    found = client.get(f"{path}/").json()
    assert (found["status"], found["raw_response"]["id"]) == ("completed", 5)
    assert "secret-of-a-provider" not in found["raw_response"]["upload_url"]
    assert found["contents"] == [
        {"content_id": content_id, "media_type": "image/png", "size": 7, "sha256": "0" * 64,
         "url": f"/api/v1/contents/{content_id}"}
    ]  # fmt: skip
    assert found["created_at"].endswith("Z")


def test_no_such_generation(client: httpx2.Client) -> None:
    for generation_id in (new_generation_id(), "nonsense", new_task_id(), "%00"):
        expect_problem(client.get(f"/api/v1/generations/{generation_id}"), 404, "generation-not-found")


def test_prompts(client: httpx2.Client) -> None:
    path = "/api/v1/prompts/house%20style"
    expect_problem(client.get(path), 404, "prompt-not-found")
    stored = client.put(path, json={"text": "in watercolor"})
    assert (stored.status_code, stored.json()["id"], stored.json()["text"]) == (200, "house style", "in watercolor")
    assert client.get(path).json() == stored.json()
    replaced = client.put(path, json={"text": "in oil"}).json()
    assert (replaced["text"], replaced["created_at"]) == ("in oil", stored.json()["created_at"])
    expect_problem(client.get(f"{path}?tenant=acme"), 404, "prompt-not-found")
    assert client.put(f"{path}?tenant=acme", json={"text": "theirs"}).json()["tenant"] == "acme"
    assert client.get(path).json()["text"] == "in oil"


def test_bad_prompts(client: httpx2.Client) -> None:
    path = "/api/v1/prompts/p"
    for body, field in (
        ({}, "text"), ({"text": 1}, "text"), ({"text": " "}, "text"), ({"text": "x" * 20_001}, "text"),
        ({"text": "x", "more": 1}, "more"), ({"text": "\x00"}, "text"),
    ):  # fmt: skip
        expect_problem(client.put(path, json=body), 422, "invalid-input", field=field)
    for name in ("%00", "x" * 201, "a%0Ab"):
        expect_problem(client.put(f"/api/v1/prompts/{name}", json={"text": "x"}), 422, "invalid-input", field="id")
        expect_problem(client.get(f"/api/v1/prompts/{name}"), 404, "prompt-not-found")
    expect_problem(client.get(f"{path}?tenants=x"), 422, "invalid-parameter", field="tenants")
    expect_problem(client.get(path), 404, "prompt-not-found")
