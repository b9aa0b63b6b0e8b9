"""Provider `local`: real pictures, the same ones again, step by step."""

import base64
import ctypes
import io
import threading
import time

import pytest
from PIL import Image

from providers.errors import InvalidInput
from providers.media import local, registry
from providers.media.local import LocalProvider
from providers.media.protocol import JobRef, Output, SourceData
from tests.providers.media import poll_to_end, source_of, submit

FAST = {"step_seconds": 0, "width": 64, "height": 48}


def pictures(ref: JobRef, provider: LocalProvider | None = None) -> list[bytes]:
    painter = provider or registry.get("local")
    while (status := painter.poll(ref)).state == "running":
        pass
    return [data_of(output) for output in status.outputs]


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
    assert provider.poll(ref).percent == 20
    assert provider.poll(ref).percent == 40
    assert other.poll(ref).percent == 20
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
    provider, ref = LocalProvider(), submit("local", params={**FAST, "steps": 5})
    provider.poll(ref)
    assert provider.cancel(ref)
    assert not provider.cancel(ref)
    assert provider.poll(ref).percent == 20


def test_abandoned_jobs_do_not_pile_up() -> None:
    provider = LocalProvider()
    for number in range(local.MAX_JOBS + 10):
        provider.poll(submit("local", params={**FAST, "steps": 2}, key=f"key-{number}"))
    assert len(provider._jobs) == local.MAX_JOBS


def test_an_interrupt_raised_into_the_thread_is_noticed_at_once() -> None:
    class Interrupted(BaseException):
        pass

    ended = threading.Event()

    def work() -> None:
        try:
            poll_to_end("local", submit("local", params={**FAST, "step_seconds": 60}))
        except Interrupted:
            ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert thread.ident is not None
    began = time.monotonic()
    while not ended.is_set() and time.monotonic() - began < 10:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Interrupted))
        ended.wait(0.2)
    thread.join(10)
    assert ended.is_set()


def test_preview_says_what_is_known() -> None:
    params = registry.parse_params("local", "txt2img", {"steps": 10, "step_seconds": 2, "width": 1000, "height": 500})
    preview = registry.get("local").preview("txt2img", params)
    assert (preview.cost, preview.width, preview.height, preview.count) == (0.0, 1000, 500, 1)
    assert preview.expected_seconds == pytest.approx(20.5)
