"""Provider `midjourney` against its test server."""

from pathlib import Path

import pytest

from providers.download import DownloadPolicy
from providers.errors import (
    AuthenticationFailed,
    InvalidInput,
    NotFound,
    PermissionDenied,
    ProviderError,
    ServerError,
    ServiceUnavailable,
)
from providers.media.protocol import SourceData
from tests.providers.media import cancel, download, find, poll, poll_to_end, source_of, submit
from tests.providers.servers import MidjourneyServer, midjourney
from tests.providers.servers.jobs import picture


def test_imagine_from_submit_to_its_picture(midjourney_server: MidjourneyServer, tmp_path: Path) -> None:
    params = {"aspect_ratio": "16:9", "version": "6.1", "stylize": 0, "negative_prompt": "fog, rain"}
    ref = submit("midjourney", params=params)
    statuses = poll_to_end("midjourney", ref)
    assert [(status.state, status.percent) for status in statuses] == [("running", 33), ("succeeded", 100)]
    assert statuses[0].message == "In progress"
    [output] = statuses[-1].outputs
    policy = DownloadPolicy(frozenset({f"127.0.0.1:{midjourney_server.port}"}))
    assert download(str(output.url), tmp_path, policy).path.read_bytes() == picture(ref["id"], 0)
    [job] = midjourney_server.jobs.all()
    assert job.prompt == "a cat --ar 16:9 --v 6.1 --stylize 0 --no fog, rain"


def test_img2img_sends_the_picture(midjourney_server: MidjourneyServer, image: bytes) -> None:
    submit("midjourney", "img2img", params={"version": "niji 6"}, source=source_of(image))
    [job] = midjourney_server.jobs.all()
    assert job.request["base64Array"][0].startswith("data:image/png;base64,iVBOR")
    assert job.prompt == "a cat --niji 6"


def test_upscale_variation_and_reroll_of_a_finished_job(midjourney_server: MidjourneyServer) -> None:
    ref = submit("midjourney")
    poll_to_end("midjourney", ref)
    source = SourceData(provider_id=ref["id"])
    for action, params in (("upscale", {"index": 2}), ("variation", {"index": 4}), ("reroll", {})):
        changed = submit("midjourney", action, None, params, source)
        assert poll_to_end("midjourney", changed)[-1].outputs[0].url
    kinds = [(job.kind, job.request.get("index")) for job in midjourney_server.jobs.all()]
    assert kinds[1:] == [("UPSCALE", 2), ("VARIATION", 4), ("REROLL", None)]


def test_an_upscale_that_exists_is_used(midjourney_server: MidjourneyServer) -> None:
    ref = submit("midjourney")
    poll_to_end("midjourney", ref)
    source = SourceData(provider_id=ref["id"])
    first = submit("midjourney", "upscale", None, {"index": 1}, source)
    assert submit("midjourney", "upscale", None, {"index": 1}, source) == first
    assert midjourney_server.jobs.submissions == 2


def test_describe_gives_text(midjourney_server: MidjourneyServer, image: bytes) -> None:
    status = poll_to_end("midjourney", submit("midjourney", "describe", None, {}, source_of(image)))[-1]
    [output] = status.outputs
    assert output.data is not None
    assert output.data.decode().endswith("A cat --ar 5:4")
    assert str(output.media_type).startswith("text/plain")


def test_a_submit_whose_answer_was_lost_is_found_by_its_key(midjourney_server: MidjourneyServer) -> None:
    assert find("midjourney", "key-7") is None
    ref = submit("midjourney", key="key-7")
    submit("midjourney", key="key-8")
    assert find("midjourney", "key-7") == ref


def test_cancel_where_the_proxy_can(midjourney_server: MidjourneyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    ref = submit("midjourney")
    assert cancel("midjourney", ref)
    assert poll("midjourney", ref).state == "failed"
    done = submit("midjourney")
    poll_to_end("midjourney", done)
    assert not cancel("midjourney", done)
    midjourney_server.faults.add("cancel", 409)
    assert not cancel("midjourney", done)
    midjourney_server.faults.add("cancel", 503)
    with pytest.raises(ServiceUnavailable):
        cancel("midjourney", done)
    with MidjourneyServer(can_cancel=False) as server:
        monkeypatch.setenv("MIDJOURNEY_BASE_URL", server.base_url)
        assert not cancel("midjourney", submit("midjourney"))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (3, "ServiceUnavailable"),
        (4, "InvalidInput"),
        (9, "ServerError"),
        (23, "RateLimited"),
        (24, "InvalidInput"),
    ],
)
def test_codes_of_a_refused_submit(midjourney_server: MidjourneyServer, code: int, kind: str) -> None:
    midjourney_server.next_code = code
    with pytest.raises(ProviderError, match=f"code {code}") as caught:
        submit("midjourney")
    assert caught.value.type == kind


def test_a_moderated_prompt_at_submit_and_later(midjourney_server: MidjourneyServer) -> None:
    with pytest.raises(InvalidInput, match="sensitive"):
        submit("midjourney", prompt="a naked cat")
    status = poll_to_end("midjourney", submit("midjourney", prompt="a banned cat"))[-1]
    assert (status.state, status.error and status.error.type) == ("failed", "InvalidInput")


def test_a_job_that_failed_there(midjourney_server: MidjourneyServer) -> None:
    status = poll_to_end("midjourney", submit("midjourney", prompt="a cat that fails"))[-1]
    assert (status.state, status.error and status.error.type) == ("failed", "ServerError")


def test_an_expired_job(midjourney_server: MidjourneyServer) -> None:
    with pytest.raises(NotFound, match="has no"):
        poll_to_end("midjourney", submit("midjourney", prompt="an expired cat"))
    with pytest.raises(NotFound):
        submit("midjourney", "reroll", None, {}, SourceData(provider_id="unknown"))


def test_an_output_that_is_not_there_keeps_the_job(midjourney_server: MidjourneyServer) -> None:
    with pytest.raises(ServerError, match="no output"):
        poll_to_end("midjourney", submit("midjourney", prompt="a cat with no-output"))


def test_a_source_that_cannot_be_used_is_refused(midjourney_server: MidjourneyServer) -> None:
    for action, params in (("img2img", {}), ("describe", {}), ("upscale", {"index": 1})):
        for source in (SourceData(url="https://example.com/a.png"), source_of(b"<html>")):
            with pytest.raises(InvalidInput):
                submit("midjourney", action, "a cat", params, source)


def test_a_wrong_secret_and_none_at_all(midjourney_server: MidjourneyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIDJOURNEY_API_KEY", "wrong")
    with pytest.raises(PermissionDenied):
        submit("midjourney")
    monkeypatch.delenv("MIDJOURNEY_API_KEY")
    with pytest.raises(PermissionDenied):
        submit("midjourney")
    monkeypatch.delenv("MIDJOURNEY_BASE_URL")
    with pytest.raises(AuthenticationFailed, match="MIDJOURNEY_BASE_URL"):
        poll("midjourney", {"id": "x"})


def test_the_second_job_waits_in_the_proxy_s_queue_and_is_counted(midjourney_server: MidjourneyServer) -> None:
    refs = [submit("midjourney", key=f"key-{number}") for number in range(3)]
    assert midjourney_server.jobs.most_running == 3
    for ref in refs:
        assert poll_to_end("midjourney", ref)[-1].state == "succeeded"
    assert midjourney_server.jobs.running == 0
    assert midjourney.SECRET not in str(refs)
