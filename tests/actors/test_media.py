"""Media from every provider: the stored contents are the bytes that it served."""

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from actors.media import MediaRequest, provider_gate
from state import get_events, get_task, list_tasks, submit
from state.errors import GenerationNotFound, InvalidPayload, PromptNotFound
from state.media.contents import get_content
from state.media.generations import get_generation
from state.media.prompts import get_prompt, put_prompt
from state.media.stores import get_store
from tests.actors.conftest import Start
from tests.providers.servers import LeonardoServer, MidjourneyServer
from tests.providers.servers.jobs import picture
from tests.support.following import get_error, read_contents, wait_until_finished

QUICK = {"steps": 2, "step_seconds": 0, "width": 32, "height": 32}


def media(provider: str = "local", prompt: str | None = "a cat", **more: Any) -> dict[str, Any]:
    return {"provider": provider, "prompt": prompt, **({"params": QUICK} if provider == "local" else {}), **more}


def submit_media(
    tenant: str | None = None, max_attempts: int | None = None, delay_seconds: float | None = None, **request: Any
) -> str:
    return submit(
        "media_generation", media(**request), tenant=tenant, max_attempts=max_attempts, delay_seconds=delay_seconds
    ).task_id


def test_the_bytes_of_every_provider(
    start: Start,
    trusted: None,
    leonardo_server: LeonardoServer,
    midjourney_server: MidjourneyServer,
    nothing_partial: Callable[[], None],
) -> None:
    start(threads=8)
    leonardo = submit_media(provider="leonardo", params={"count": 3}, workflow_run_id="run-7")
    midjourney = submit_media(provider="midjourney")
    local = submit_media()
    task = wait_until_finished(leonardo)
    [job] = leonardo_server.jobs.all()
    assert read_contents(task) == [picture(job.id, number) for number in range(3)]
    assert task.result["urls"] == [f"/api/v1/contents/{each}" for each in task.result["content_ids"]]
    assert [each.task_id for each in list_tasks(workflow_run_id="run-7")] == [leonardo]
    task = wait_until_finished(midjourney)
    [job] = midjourney_server.jobs.all()
    assert read_contents(task) == [picture(job.id, 0)]
    told = [event.data for event in get_events(midjourney) if event.kind == "progress"]
    assert all(each["elapsed_ms"] >= 0 and each["message"] for each in told)
    [drawn] = read_contents(wait_until_finished(local))
    assert drawn.startswith(b"\x89PNG")
    nothing_partial()
    again = wait_until_finished(submit_media())
    assert read_contents(again) == [drawn]
    assert again.result["content_ids"] != get_task(local).result["content_ids"]


def test_the_generation_keeps_request_answer_and_contents(
    start: Start, trusted: None, midjourney_server: MidjourneyServer
) -> None:
    start()
    task = wait_until_finished(submit_media(provider="midjourney", tenant="acme"))
    row = get_generation(task.result["metadata_id"])
    assert (row["status"], row["task_status"], row["tenant"]) == ("completed", "completed", "acme")
    assert (row["provider"], row["action_type"], row["prompt"], row["error"]) == (
        "midjourney",
        "txt2img",
        "a cat",
        None,
    )
    assert row["raw_response"]["status"] == "SUCCESS"
    [content] = row["contents"]
    stored = get_content(content["content_id"])
    assert (stored["tenant"], stored["media_type"]) == ("acme", "image/png")
    path = get_store().path(stored["sha256"])
    assert path is not None
    assert hashlib.sha256(path.read_bytes()).hexdigest() == content["sha256"]
    with pytest.raises(GenerationNotFound):
        get_generation("gn_" + "0" * 32)


def test_sources_come_from_our_store_or_a_url_of_the_public_internet(
    start: Start, trusted: None, leonardo_server: LeonardoServer, midjourney_server: MidjourneyServer, image: bytes
) -> None:
    """A host that is trusted for outputs is not trusted in the URL of a submitter."""
    start()
    first = wait_until_finished(submit_media(provider="leonardo"))
    [drawn] = read_contents(first)
    [content_id] = first.result["content_ids"]
    [job] = leonardo_server.jobs.all()
    url = f"{leonardo_server.origin}/images/{job.id}/0.png"
    by_id = submit_media(provider="leonardo", action_type="img2img", source_data={"content_id": content_id})
    wait_until_finished(by_id)
    by_url = wait_until_finished(submit_media(provider="leonardo", action_type="upscale", source_data={"url": url}))
    assert (by_url.status, get_error(by_url)["type"]) == ("dead", "PermissionDenied")
    assert list(leonardo_server.uploads.values()) == [drawn]
    source = {"content_id": content_id}
    describe = submit_media(provider="midjourney", prompt=None, action_type="describe", source_data=source)
    task = wait_until_finished(describe)
    assert read_contents(task)[0].decode() == "1️⃣ A cat --ar 5:4"
    assert get_content(task.result["content_ids"][0])["media_type"] == "text/plain; charset=utf-8"
    enlarged = submit_media(action_type="upscale", prompt=None, source_data={"content_id": content_id}, params={})
    assert wait_until_finished(enlarged).status == "completed"
    # Text is no image, and contents of another tenant are not found.
    wrong = submit_media(action_type="img2img", source_data={"content_id": task.result["content_ids"][0]})
    foreign = submit_media(action_type="img2img", source_data={"content_id": content_id}, tenant="other")
    for task_id, reason in ((wrong, "not an image"), (foreign, "There is no content")):
        dead = wait_until_finished(task_id)
        assert (dead.status, get_error(dead)["type"]) == ("dead", "InvalidInput")
        assert reason in get_error(dead)["message"]


def test_a_stored_prompt(start: Start, database_url: str) -> None:
    put_prompt("cat", "a cat")
    put_prompt("cat", "a cat of acme", tenant="acme")
    assert get_prompt("cat")["text"] == "a cat"
    with pytest.raises(PromptNotFound):
        get_prompt("cat", tenant="other")
    with pytest.raises(InvalidPayload, match="text"):
        put_prompt("cat", " ")
    start()
    own = submit_media(prompt=None, prompt_id="cat")
    acme = submit_media(prompt=None, prompt_id="cat", tenant="acme")
    missing = submit_media(prompt=None, prompt_id="dog")
    written = submit_media()
    pictures = [read_contents(wait_until_finished(task_id)) for task_id in (own, written, acme)]
    assert pictures[0] == pictures[1] != pictures[2]
    assert get_generation(get_task(acme).result["metadata_id"])["prompt"] == "a cat of acme"
    dead = wait_until_finished(missing)
    assert (dead.status, get_error(dead)["type"]) == ("dead", "InvalidInput")
    assert "There is no prompt 'dog'" in get_error(dead)["message"]


def test_impossible_requests_are_refused_at_submit(database_url: str) -> None:
    refusals = {
        "set LEONARDO_API_KEY": media("leonardo"),
        "set MIDJOURNEY_BASE_URL": media("midjourney"),
        "no action 'dance'": media(action_type="dance"),
        "needs a prompt": media(prompt=None),
        "not both": media(prompt_id="cat"),
        "needs source_data": media(action_type="upscale", params={}),
        "source_data needs": media(action_type="upscale", params={}, source_data={}),
        "width": media(params={"width": 1}),
        "known are": media("dalle"),
    }
    for reason, request in refusals.items():
        with pytest.raises(InvalidPayload, match=reason):
            submit("media_generation", request)
    assert list_tasks() == []


def test_outputs_from_hosts_that_are_not_trusted_are_not_fetched(
    start: Start, midjourney_server: MidjourneyServer, nothing_partial: Callable[[], None]
) -> None:
    start()
    dead = wait_until_finished(submit_media(provider="midjourney"))
    assert (dead.status, get_error(dead)["type"], get_error(dead)["category"]) == (
        "dead",
        "PermissionDenied",
        "permanent",
    )
    assert "https" in get_error(dead)["message"]
    source = wait_until_finished(
        submit_media(action_type="img2img", source_data={"url": f"{midjourney_server.origin}/x.png"})
    )
    assert (source.status, get_error(source)["type"]) == ("dead", "PermissionDenied")
    nothing_partial()


def test_the_gate_is_the_providers_limit(leonardo_server: LeonardoServer, midjourney_server: MidjourneyServer) -> None:
    gates = [provider_gate(MediaRequest(**media(name))) for name in ("leonardo", "midjourney", "local")]
    limits = [(gate.key, gate.limit) for [gate] in gates]
    assert limits == [("provider:leonardo", 3), ("provider:midjourney", 1), ("provider:local", 8)]
