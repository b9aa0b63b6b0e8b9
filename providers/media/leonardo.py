"""Provider `leonardo`: the public REST API of Leonardo.Ai (https://docs.leonardo.ai/reference).

The API takes no idempotency key, cannot cancel a job, and reports no percent."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from providers.api import Api
from providers.errors import AuthenticationFailed, InvalidInput, NotFound, ServerError
from providers.media.protocol import ActionParams, JobRef, JobStatus, Limits, Output, Preview, SourceData
from providers.mediatypes import EXTENSIONS, HEAD_BYTES, sniff
from providers.settings import LeonardoSettings, read
from providers.upload import upload

UPLOAD_TYPES = ("image/png", "image/jpeg", "image/webp")
MAX_PROMPT = 1500


class Txt2ImgParams(ActionParams):
    width: int = Field(1024, ge=32, le=1536, multiple_of=8)
    height: int = Field(1024, ge=32, le=1536, multiple_of=8)
    count: int = Field(1, ge=1, le=8)
    model_id: str | None = None
    negative_prompt: str | None = None
    preset_style: str | None = None
    guidance_scale: int | None = Field(None, ge=1, le=20)
    seed: int | None = Field(None, ge=0, lt=2**32)
    alchemy: bool | None = None

    @model_validator(mode="after")
    def _check_count(self) -> "Txt2ImgParams":
        if self.count > 4 and max(self.width, self.height) > 768:
            raise ValueError("count must be at most 4 if a side is over 768")
        return self

    def make_body(self) -> dict[str, Any]:
        """Returns the params under Leonardo's names. Params that are not set are left to its defaults."""
        named = {
            "width": self.width,
            "height": self.height,
            "num_images": self.count,
            "modelId": self.model_id,
            "negative_prompt": self.negative_prompt,
            "presetStyle": self.preset_style,
            "guidance_scale": self.guidance_scale,
            "seed": self.seed,
            "alchemy": self.alchemy,
            "public": False,
        }
        return {name: value for name, value in named.items() if value is not None}


class Img2ImgParams(Txt2ImgParams):
    needs_source = True

    strength: float = Field(0.5, ge=0.1, le=0.9)

    def make_body(self) -> dict[str, Any]:
        return super().make_body() | {"init_strength": self.strength}


class UpscaleParams(ActionParams):
    needs_prompt = False
    needs_source = True

    style: Literal["GENERAL", "CINEMATIC", "2D ART & ILLUSTRATION", "CG ART & GAME ASSETS"] = "GENERAL"
    creativity: int = Field(5, ge=1, le=10)
    multiplier: float = Field(1.5, ge=1.0, le=2.0)


class LeonardoProvider:
    name = "leonardo"
    limits = Limits(concurrency=3)
    poll_seconds = 3.0
    can_find = False
    actions: Mapping[str, type[ActionParams]] = {
        "txt2img": Txt2ImgParams,
        "img2img": Img2ImgParams,
        "upscale": UpscaleParams,
    }

    def find_missing_variable(self) -> str | None:
        return None if read(LeonardoSettings).api_key else "LEONARDO_API_KEY"

    async def submit(
        self,
        action: str,
        prompt: str | None,
        params: ActionParams,
        source_data: SourceData | None,
        idempotency_key: str,  # noqa: ARG002
    ) -> JobRef:
        if prompt and len(prompt) > MAX_PROMPT:
            raise InvalidInput(f"leonardo takes prompts of at most {MAX_PROMPT} characters")
        api = _make_api()
        if isinstance(params, UpscaleParams):
            return await _submit_upscale(api, params, source_data)
        if not isinstance(params, Txt2ImgParams):
            raise InvalidInput(f"leonardo has no action {action!r}")
        body = params.make_body() | {"prompt": prompt}
        if isinstance(params, Img2ImgParams):
            body |= await _prepare_source(api, source_data, "init_image_id", "init_generation_image_id")
        job = await _submit(api, "/generations", body, "sdGenerationJob")
        return {"kind": "generation", "id": _read_job_id(job, "generationId"), "cost": job.get("apiCreditCost")}

    async def find(self, idempotency_key: str) -> JobRef | None:  # noqa: ARG002
        return None

    async def poll(self, ref: JobRef) -> JobStatus:
        api = _make_api()
        if ref["kind"] == "generation":
            answer = await _request_object(api, f"/generations/{ref['id']}")
            job = answer.get("generations_by_pk")
            urls = [image.get("url") for image in (job or {}).get("generated_images") or []]
        else:
            answer = await _request_object(api, f"/variations/{ref['id']}")
            job = next(iter(answer.get("generated_image_variation_generic") or []), None)
            urls = [(job or {}).get("url")]
        if job is None:
            raise NotFound(f"leonardo has no {ref['kind']} {ref['id']}")
        return _read_status(job, [url for url in urls if url], answer)

    async def cancel(self, ref: JobRef) -> bool:  # noqa: ARG002
        return False

    def preview(self, action: str, params: ActionParams) -> Preview:
        """Returns no cost, because it depends on model and plan, and only Leonardo's calculator knows it."""
        if isinstance(params, Txt2ImgParams):
            seconds = 15.0 + 5.0 * params.count
            return Preview(None, "credits", params.width, params.height, params.count, seconds)
        return Preview(None, "credits", count=1, expected_seconds=40.0 if action == "upscale" else None)


def _make_api() -> Api:
    settings = read(LeonardoSettings)
    if settings.api_key is None:
        raise AuthenticationFailed("leonardo is not configured: set LEONARDO_API_KEY")
    key = settings.api_key.get_secret_value()
    return Api("leonardo", settings.base_url, {"Authorization": f"Bearer {key}"}, settings.timeout)


async def _request_object(api: Api, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    try:
        answer = await (api.get(path) if body is None else api.post(path, body))
    except ServerError as error:
        if "authorization hook" in str(error):
            # Leonardo answers 500 to a malformed key. A retry would not help.
            raise AuthenticationFailed("leonardo does not accept this API key", details=error.details) from error
        raise
    if not isinstance(answer, dict):
        raise ServerError("leonardo sent JSON of an unknown structure")
    return answer


async def _submit(api: Api, path: str, body: Mapping[str, Any], name: str) -> dict[str, Any]:
    job = (await _request_object(api, path, body)).get(name)
    return job if isinstance(job, dict) else {}


def _read_job_id(job: Mapping[str, Any], name: str) -> str:
    job_id = job.get(name)
    if not isinstance(job_id, str) or not job_id:
        raise ServerError("leonardo accepted the request but returned no job id")
    return job_id


async def _submit_upscale(api: Api, params: UpscaleParams, source_data: SourceData | None) -> JobRef:
    body = {
        "upscalerStyle": params.style,
        "creativityStrength": params.creativity,
        "upscaleMultiplier": params.multiplier,
    } | await _prepare_source(api, source_data, "initImageId", "generatedImageId")
    job = await _submit(api, "/variations/universal-upscaler", body, "universalUpscaler")
    return {"kind": "variation", "id": _read_job_id(job, "id"), "cost": job.get("apiCreditCost")}


async def _prepare_source(api: Api, source_data: SourceData | None, uploaded: str, generated: str) -> dict[str, str]:
    """Returns the body's reference to the source: an image of Leonardo's own, or ours, which is uploaded first."""
    if source_data is not None and source_data.provider_id:
        return {generated: source_data.provider_id}
    if source_data is not None and source_data.image:
        return {uploaded: await _upload(api, source_data.image)}
    raise InvalidInput("leonardo needs source_data with an image or a provider_id")


async def _upload(api: Api, image: bytes) -> str:
    media_type = sniff(image[:HEAD_BYTES])
    if media_type not in UPLOAD_TYPES:
        raise InvalidInput(f"leonardo takes PNG, JPEG and WebP images, not {media_type or 'this type'}")
    slot = await _submit(api, "/init-image", {"extension": EXTENSIONS[media_type]}, "uploadInitImage")
    try:
        fields, url = json.loads(slot["fields"]), slot["url"]
    except (KeyError, TypeError, ValueError) as error:
        raise ServerError("leonardo returned no URL for the upload") from error
    # To S3, which refuses requests with the API key.
    await upload(url, "leonardo upload", api.timeout, data=fields, files={"file": ("image", image, media_type)})
    return _read_job_id(slot, "id")


def _read_status(job: Mapping[str, Any], urls: list[str], answer: dict[str, Any]) -> JobStatus:
    state = job.get("status")
    if state == "FAILED":
        error = ServerError("leonardo failed to run the job", details={"service": "leonardo"})
        return JobStatus("failed", message="Failed", raw=answer, error=error)
    if state != "COMPLETE":
        return JobStatus("running", message="Running at Leonardo", raw=answer)
    if not urls:
        # Raised, so that the job is polled again: it has been paid for, and its output may appear later.
        raise ServerError("leonardo has completed the job but returned no output")
    return JobStatus("succeeded", 100.0, "Completed", [Output(url=url) for url in urls], answer)
