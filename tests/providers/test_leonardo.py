"""Provider `leonardo` against its test server."""

from pathlib import Path

import pytest

from providers.download import DownloadPolicy
from providers.errors import AuthenticationFailed, InvalidInput, NotFound, PermissionDenied, ProviderError, ServerError
from providers.media.protocol import SourceData
from tests.providers.media import cancel, download, find, poll, poll_to_end, source_of, submit
from tests.providers.servers import LeonardoServer
from tests.providers.servers.jobs import picture


def test_a_generation_from_submit_to_its_pictures(leonardo_server: LeonardoServer, tmp_path: Path) -> None:
    ref = submit("leonardo", prompt="a cat", params={"count": 2, "width": 512, "height": 768, "seed": 7})
    assert ref["cost"] == 11
    statuses = poll_to_end("leonardo", ref)
    assert [status.state for status in statuses] == ["running", "succeeded"]
    assert [status.percent for status in statuses] == [None, 100]
    policy = DownloadPolicy(frozenset({f"127.0.0.1:{leonardo_server.port}"}))
    files = [download(str(output.url), tmp_path, policy) for output in statuses[-1].outputs]
    assert [file.path.read_bytes() for file in files] == [picture(ref["id"], 0), picture(ref["id"], 1)]
    assert statuses[-1].raw["generations_by_pk"]["id"] == ref["id"]
    [job] = leonardo_server.jobs.all()
    assert job.request == {
        "prompt": "a cat",
        "width": 512,
        "height": 768,
        "num_images": 2,
        "seed": 7,
        "public": False,
    }


@pytest.fixture
def trusted(leonardo_server: LeonardoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Uploads go by http to loopback."""
    monkeypatch.setenv("CALLBOARD_DOWNLOAD_TRUSTED_HOSTS", f"127.0.0.1:{leonardo_server.port}")


@pytest.mark.usefixtures("trusted")
def test_img2img_uploads_the_source_first(leonardo_server: LeonardoServer, image: bytes) -> None:
    ref = submit("leonardo", "img2img", params={"strength": 0.3}, source=source_of(image))
    assert poll_to_end("leonardo", ref)[-1].state == "succeeded"
    [(upload, stored)] = leonardo_server.uploads.items()
    assert stored == image
    [job] = leonardo_server.jobs.all()
    assert (job.request["init_image_id"], job.request["init_strength"]) == (upload, 0.3)


def test_a_picture_of_leonardo_itself_needs_no_upload(leonardo_server: LeonardoServer) -> None:
    submit("leonardo", "img2img", source=SourceData(provider_id="its-image"))
    [job] = leonardo_server.jobs.all()
    assert job.request["init_generation_image_id"] == "its-image"
    assert not leonardo_server.uploads


@pytest.mark.usefixtures("trusted")
def test_upscale(leonardo_server: LeonardoServer, image: bytes) -> None:
    ref = submit("leonardo", "upscale", None, {"multiplier": 2}, source_of(image))
    status = poll_to_end("leonardo", ref)[-1]
    assert (ref["kind"], len(status.outputs)) == ("variation", 1)


def test_a_source_without_anything_usable_is_refused(leonardo_server: LeonardoServer, image: bytes) -> None:
    for source in (SourceData(url="https://example.com/a.png"), source_of(b"GIF89a....")):
        with pytest.raises(InvalidInput):
            submit("leonardo", "img2img", source=source)
    assert leonardo_server.jobs.submissions == 0


def test_a_slow_job_is_polled_until_it_is_done(leonardo_server: LeonardoServer) -> None:
    leonardo_server.jobs.polls_needed = 12
    assert len(poll_to_end("leonardo", submit("leonardo"))) == 12


def test_a_moderated_prompt(leonardo_server: LeonardoServer) -> None:
    with pytest.raises(InvalidInput, match="moderation"):
        submit("leonardo", prompt="a naked cat")


def test_a_prompt_that_is_too_long_is_not_even_sent(leonardo_server: LeonardoServer) -> None:
    with pytest.raises(InvalidInput, match="1500"):
        submit("leonardo", prompt="cat " * 400)
    assert leonardo_server.jobs.submissions == 0


def test_an_expired_job(leonardo_server: LeonardoServer) -> None:
    with pytest.raises(NotFound, match="has no"):
        poll_to_end("leonardo", submit("leonardo", prompt="an expired cat"))


def test_an_output_that_is_not_there_keeps_the_job(leonardo_server: LeonardoServer) -> None:
    with pytest.raises(ServerError, match="no output"):
        poll_to_end("leonardo", submit("leonardo", prompt="a cat with no-output"))


def test_a_job_that_failed_there(leonardo_server: LeonardoServer) -> None:
    status = poll_to_end("leonardo", submit("leonardo", prompt="a cat that fails"))[-1]
    assert (status.state, status.error and status.error.type) == ("failed", "ServerError")


@pytest.mark.parametrize("key", ["99999999-2222-3333-4444-555555555555", "not-a-uuid"])
def test_a_wrong_key_is_an_authentication_error_though_it_may_answer_500(
    leonardo_server: LeonardoServer, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("LEONARDO_API_KEY", key)
    with pytest.raises(AuthenticationFailed) as caught:
        submit("leonardo")
    assert key not in str(caught.value) + str(caught.value.details)


def test_no_key_at_all(leonardo_server: LeonardoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEONARDO_API_KEY")
    with pytest.raises(AuthenticationFailed, match="LEONARDO_API_KEY"):
        poll("leonardo", {"kind": "generation", "id": "x"})


def test_it_cannot_cancel_nor_find(leonardo_server: LeonardoServer) -> None:
    ref = submit("leonardo")
    assert cancel("leonardo", ref) is False
    assert find("leonardo", "key-1") is None


def test_an_upload_to_a_host_inside_is_refused(leonardo_server: LeonardoServer, image: bytes) -> None:
    with pytest.raises(PermissionDenied):
        submit("leonardo", "img2img", source=source_of(image))
    assert list(leonardo_server.uploads.values()) == [None]  # asked for, never sent
    assert leonardo_server.jobs.submissions == 0


@pytest.mark.usefixtures("trusted")
def test_an_upload_that_fails_ends_before_anything_is_paid(leonardo_server: LeonardoServer, image: bytes) -> None:
    leonardo_server.faults.add("upload", 503)
    with pytest.raises(ProviderError, match="503") as caught:
        submit("leonardo", "img2img", source=source_of(image))
    assert caught.value.type == "ServiceUnavailable"
    assert leonardo_server.jobs.submissions == 0
