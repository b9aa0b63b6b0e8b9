"""Provider `local`: paints real pictures in this process, step by step, slowly enough to watch."""

import asyncio
import base64
import io
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

from PIL import Image, ImageOps, UnidentifiedImageError
from pydantic import Field

from providers.errors import InvalidInput
from providers.media.painting import STROKES, Painting, encode_png, make_seed
from providers.media.protocol import ActionParams, JobRef, JobStatus, Limits, Output, Preview, SourceData
from state.finishing import finish

_P = ParamSpec("_P")
_T = TypeVar("_T")

IDLE_SECONDS = 600.0  # longer than any pause between two polls
_painters = ThreadPoolExecutor(4, "painter")  # more would keep each other, and the event loop, from running
MAX_SIDE = 2048
MAX_SOURCE_PIXELS = 32_000_000
SOURCE_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "AVIF")  # decoders of other formats have had their bugs


class PacedParams(ActionParams):
    steps: int = Field(12, ge=1, le=1000)
    step_seconds: float = Field(0.1, ge=0, le=60)


class Txt2ImgParams(PacedParams):
    width: int = Field(512, ge=16, le=MAX_SIDE)
    height: int = Field(512, ge=16, le=MAX_SIDE)
    seed: int | None = Field(None, ge=0, lt=2**32)
    count: int = Field(1, ge=1, le=4)


class Img2ImgParams(Txt2ImgParams):
    """Paints over the source."""

    needs_source = True


class UpscaleParams(PacedParams):
    needs_prompt = False
    needs_source = True

    factor: int = Field(2, ge=2, le=4)


@dataclass
class _Job:
    polled_at: float
    step: int = 0
    painting: Painting | None = None
    outputs: list[Output] = field(default_factory=list)


class LocalProvider:
    """Each poll makes one step. Jobs are kept in memory. A job that is not there, because it was submitted before a
    crash, starts again from its seed and gives the same pictures."""

    name = "local"
    limits = Limits(concurrency=8)
    poll_seconds = 0.0
    can_find = True  # a second submission costs nothing
    actions: Mapping[str, type[PacedParams]] = {
        "txt2img": Txt2ImgParams,
        "img2img": Img2ImgParams,
        "upscale": UpscaleParams,
    }

    def __init__(self) -> None:
        self._jobs: dict[str, _Job] = {}  # the one that was polled last is the last

    def find_missing_variable(self) -> str | None:
        return None

    async def submit(
        self,
        action: str,
        prompt: str | None,
        params: ActionParams,
        source_data: SourceData | None,
        idempotency_key: str,
    ) -> JobRef:
        wanted = params.model_dump(mode="json")
        if wanted.get("seed", 0) is None:
            wanted["seed"] = make_seed(prompt or "")
        ref = {"id": idempotency_key, "action": action, "prompt": prompt or "", "params": wanted}
        if params.needs_source:
            ref["source"] = await _run_in_thread(_reduce_source, source_data, params)
        return ref

    async def find(self, idempotency_key: str) -> JobRef | None:  # noqa: ARG002
        return None  # a second submission costs nothing and paints the same picture

    async def poll(self, ref: JobRef) -> JobStatus:
        params = self.actions[ref["action"]].model_validate(ref["params"])
        job = self._get_job(ref["id"])
        try:
            await asyncio.sleep(params.step_seconds)
            job.step += 1
            await _run_in_thread(_make_step, job, ref, params)
        except BaseException:
            self._forget(ref["id"])  # an interrupted step would change the picture: start again from the seed
            raise
        message = f"Step {job.step}/{params.steps}"
        if job.step < params.steps:
            return JobStatus("running", round(100.0 * job.step / params.steps, 1), message)
        self._forget(ref["id"])
        raw = {"id": ref["id"], "action": ref["action"], "params": ref["params"]}
        return JobStatus("succeeded", 100.0, message, job.outputs, raw)

    async def cancel(self, ref: JobRef) -> bool:
        return self._forget(ref["id"])

    def preview(self, action: str, params: ActionParams) -> Preview:
        paced = self.actions[action].model_validate(params.model_dump())
        seconds = paced.steps * paced.step_seconds
        if not isinstance(paced, Txt2ImgParams):
            return Preview(0.0, "USD", count=1, expected_seconds=round(seconds, 2))
        seconds += paced.count * paced.width * paced.height / 1_000_000
        return Preview(0.0, "USD", paced.width, paced.height, paced.count, round(seconds, 2))

    def _get_job(self, job_id: str) -> _Job:
        now = time.monotonic()
        job = self._jobs.pop(job_id, None) or _Job(now)
        job.polled_at = now
        self._jobs[job_id] = job
        # Interrupted jobs may never be polled again, and would keep their canvases.
        while now - self._jobs[idle := next(iter(self._jobs))].polled_at > IDLE_SECONDS:
            del self._jobs[idle]
        return job

    def _forget(self, job_id: str) -> bool:
        return self._jobs.pop(job_id, None) is not None


async def _run_in_thread(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    work = _painters.submit(function, *args, **kwargs)
    return await finish(asyncio.wrap_future(work), work.cancel)


def _make_step(job: _Job, ref: JobRef, params: PacedParams) -> None:
    if isinstance(params, Txt2ImgParams):
        _paint(job, ref, params)
    elif isinstance(params, UpscaleParams) and job.step == params.steps:
        source = _open_image(base64.b64decode(ref["source"]))
        size = (source.width * params.factor, source.height * params.factor)
        enlarged = source.resize(size, Image.Resampling.LANCZOS)
        job.outputs.append(Output(data=encode_png(enlarged), media_type="image/png"))


def _paint(job: _Job, ref: JobRef, params: Txt2ImgParams) -> None:
    """Paints the strokes that belong to this step, one picture after the other."""
    target = STROKES * params.count * job.step // params.steps
    while len(job.outputs) < params.count:
        number = len(job.outputs)
        if job.painting is None:
            under = _open_image(base64.b64decode(ref["source"])) if "source" in ref else None
            seed = (params.seed or 0) + number
            job.painting = Painting(ref["prompt"], seed, params.width, params.height, under)
        job.painting.paint(target - number * STROKES)
        if job.painting.strokes < STROKES:
            return
        job.outputs.append(Output(data=job.painting.encode(), media_type="image/png"))
        job.painting = None


def _reduce_source(source_data: SourceData | None, params: ActionParams) -> str:
    """Returns the source image, no larger than needed, because it is stored in the checkpoint."""
    if source_data is None or source_data.image is None:
        raise InvalidInput("local needs source_data with an image")
    image = _open_image(source_data.image)
    if isinstance(params, Txt2ImgParams):
        image = ImageOps.fit(image, (params.width, params.height), Image.Resampling.LANCZOS)
    elif isinstance(params, UpscaleParams) and max(image.size) * params.factor > MAX_SIDE:
        raise InvalidInput(f"The result would be larger than {MAX_SIDE} pixels: {image.size} x {params.factor}")
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", quality=95)
    return base64.b64encode(buffer.getvalue()).decode()


def _open_image(data: bytes) -> Image.Image:
    try:
        image = Image.open(io.BytesIO(data), formats=SOURCE_FORMATS)
        if image.width * image.height > MAX_SOURCE_PIXELS:
            raise InvalidInput(f"The source image is too large: {image.width}x{image.height}")
        return image.convert("RGB")
    except UnidentifiedImageError as error:
        raise InvalidInput(f"The source is not an image: none of {', '.join(SOURCE_FORMATS)}") from error
    except (OSError, ValueError, SyntaxError, RuntimeError, Image.DecompressionBombError) as error:
        raise InvalidInput(f"The source is not a readable image: {error}") from error
