"""Provider `local`: real pictures, the same ones again, step by step."""

import asyncio
import base64
import io

import pytest
from PIL import Image

from providers.blocking import wait_for
from providers.errors import InvalidInput
from providers.media import local, registry
from providers.media.local import LocalProvider
from providers.media.protocol import JobRef, JobStatus, Output, SourceData
from tests.providers.media import cancel, poll, poll_to_end, source_of, submit

FAST = {"step_seconds": 0, "width": 64, "height": 48}


def pictures(ref: JobRef, provider: LocalProvider | None = None) -> list[bytes]:
    async def paint() -> JobStatus:
        painter = provider or registry.get("local")
        while (status := await painter.poll(ref)).state == "running":
            pass
        return status

    return [data_of(output) for output in wait_for(paint()).outputs]


def data_of(output: Output) -> bytes:
    assert output.data is not None
    return output.data


def test_it_paints_what_was_asked_for_step_by_step() -> None:
    statuses = poll_to_end("local", submit("local", params={**FAST, "steps": 4, "count": 3}))
    assert [status.percent for status in statuses] == [25, 50, 75, 100]
    assert [status.message for status in statuses] == [f"Step {n}/4" for n in (1, 2, 3, 4)]
    assert statuses[-1].state == "succeeded"
    assert len({output.data for output in statuses[-1].outputs}) == 3
    for output in statuses[-1].outputs:
        image = Image.open(io.BytesIO(data_of(output)))
        assert (image.format, image.size, output.media_type) == ("PNG", (64, 48), "image/png")
        colors = image.getcolors(64 * 48)
        assert colors is not None
        assert len(colors) > 200, "a picture, not a blank"


def test_the_same_prompt_and_seed_give_the_same_bytes_whatever_the_steps() -> None:
    first = pictures(submit("local", params={**FAST, "steps": 3}))
    assert pictures(submit("local", params={**FAST, "steps": 50})) == first
    assert pictures(submit("local", params={**FAST, "seed": 1})) != first
    assert pictures(submit("local", prompt="a dog", params=FAST)) != first


def test_a_job_of_a_process_that_died_starts_again_and_gives_the_same() -> None:
    ref = submit("local", params={**FAST, "steps": 5})
    expected = pictures(ref)
    provider, other = LocalProvider(), LocalProvider()
    assert wait_for(provider.poll(ref)).percent == 20
    assert wait_for(provider.poll(ref)).percent == 40
    assert wait_for(other.poll(ref)).percent == 20
    assert pictures(ref, other) == pictures(ref, provider) == expected


def test_img2img_paints_over_the_source_and_upscale_enlarges_it(image: bytes) -> None:
    source = source_of(image)
    painted = pictures(submit("local", "img2img", params=FAST, source=source))
    assert painted != pictures(submit("local", params=FAST))
    [enlarged] = pictures(submit("local", "upscale", None, {"step_seconds": 0, "factor": 3}, source))
    assert Image.open(io.BytesIO(enlarged)).size == (192, 144)


def test_source_data_carries_its_image_as_base64(image: bytes) -> None:
    source = SourceData.model_validate({"image": base64.b64encode(image).decode()})
    assert source.image == image
    assert SourceData.model_validate_json(source.model_dump_json()).image == image
    assert SourceData.model_validate(source_of(image).model_dump(mode="json")).image == image


def test_a_source_that_is_no_image_is_refused(image: bytes) -> None:
    avif = io.BytesIO()
    Image.open(io.BytesIO(image)).save(avif, "AVIF")
    for broken in (b"", b"<html>", image[:60], avif.getvalue().replace(b"pitm", b"none")):
        with pytest.raises(InvalidInput) as refused:
            submit("local", "img2img", params=FAST, source=source_of(broken))
        assert "BytesIO" not in str(refused.value)
    [wide] = pictures(submit("local", params=FAST | {"width": 1024}))
    with pytest.raises(InvalidInput, match="larger than 2048"):
        submit("local", "upscale", None, {"factor": 4}, source_of(wide))


def test_cancel_forgets_the_job() -> None:
    ref = submit("local", params={**FAST, "steps": 5})
    poll("local", ref)
    assert cancel("local", ref)
    assert not cancel("local", ref)
    assert poll("local", ref).percent == 20


def test_many_jobs_at_once_all_end_and_abandoned_ones_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = LocalProvider()
    refs = [submit("local", params={**FAST, "steps": 2}, key=f"key-{number}") for number in range(100)]

    async def poll_each() -> list[str]:
        return [(await provider.poll(ref)).state for ref in refs]

    assert set(wait_for(poll_each())) == {"running"}
    assert set(wait_for(poll_each())) == {"succeeded"}
    monkeypatch.setattr(local, "IDLE_SECONDS", 0)
    wait_for(poll_each())
    assert len(provider._jobs) == 1


def test_a_canceled_poll_ends_at_once_and_starts_the_picture_again() -> None:
    provider, ref = LocalProvider(), submit("local", params={**FAST, "steps": 5, "step_seconds": 60})
    quick = {**ref, "params": {**ref["params"], "step_seconds": 0}}

    async def cancel_the_second_step() -> None:
        await provider.poll(quick)
        await asyncio.wait_for(provider.poll(ref), 0.1)

    with pytest.raises(TimeoutError):
        wait_for(cancel_the_second_step())
    assert wait_for(provider.poll(quick)).percent == 20


def test_preview_says_what_is_known() -> None:
    params = registry.parse_params("local", "txt2img", {"steps": 10, "step_seconds": 2, "width": 1000, "height": 500})
    preview = registry.get("local").preview("txt2img", params)
    assert (preview.cost, preview.width, preview.height, preview.count) == (0.0, 1000, 500, 1)
    assert preview.expected_seconds == pytest.approx(20.5)
