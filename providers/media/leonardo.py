"""Provider `leonardo`: the public REST API of Leonardo.Ai (https://docs.leonardo.ai/reference).

The API has no place for an idempotency key and cannot stop a job that was accepted; it reports no percent."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from providers.api import Api
from providers.errors import AuthenticationFailed, InvalidInput, NotFound, ServerError
from providers.media.protocol import ActionParams, JobRef, JobStatus, Limits, Output, Preview, SourceData
from providers.mediatypes import EXTENSIONS, HEAD_BYTES, sniff
from providers.settings import LeonardoSettings

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
    def _not_too_many(self) -> "Txt2ImgParams":
        if self.count > 4 and max(self.width, self.height) > 768:
            raise ValueError("count must be at most 4 when a side is over 768")
        return self

    def body(self) -> dict[str, Any]:
        """In Leonardo's words; what is not set is left to its defaults."""
        words = {
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
        return {word: value for word, value in words.items() if value is not None}


class Img2ImgParams(Txt2ImgParams):
    needs_source = True

    strength: float = Field(0.5, ge=0.1, le=0.9)

    def body(self) -> dict[str, Any]:
        return super().body() | {"init_strength": self.strength}


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

    def available(self) -> str | None:
        return None if LeonardoSettings().api_key else "LEONARDO_API_KEY"

    def submit(
        self,
        action: str,
        prompt: str | None,
        params: ActionParams,
        source_data: SourceData | None,
        idempotency_key: str,  # noqa: ARG002
    ) -> JobRef:
        if prompt and len(prompt) > MAX_PROMPT:
            raise InvalidInput(f"leonardo takes prompts of at most {MAX_PROMPT} characters")
        api = _api()
        if isinstance(params, UpscaleParams):
            return _submit_upscale(api, params, source_data)
        if not isinstance(params, Txt2ImgParams):
            raise InvalidInput(f"leonardo has no action {action!r}")
        body = params.body() | {"prompt": prompt}
        if isinstance(params, Img2ImgParams):
            body |= _source(api, source_data, "init_image_id", "init_generation_image_id")
        job = _submitted(api, "/generations", body, "sdGenerationJob")
        return {"kind": "generation", "id": _job_id(job, "generationId"), "cost": job.get("apiCreditCost")}

    def find(self, idempotency_key: str) -> JobRef | None:  # noqa: ARG002
        return None

    def poll(self, ref: JobRef) -> JobStatus:
        api = _api()
        if ref["kind"] == "generation":
            answer = _asked(api, f"/generations/{ref['id']}")
            job = answer.get("generations_by_pk")
            urls = [image.get("url") for image in (job or {}).get("generated_images") or []]
        else:
            answer = _asked(api, f"/variations/{ref['id']}")
            job = next(iter(answer.get("generated_image_variation_generic") or []), None)
            urls = [(job or {}).get("url")]
        if job is None:
            raise NotFound(f"leonardo does not know {ref['kind']} {ref['id']} any more")
        return _status(job, [url for url in urls if url], answer)

    def cancel(self, ref: JobRef) -> bool:  # noqa: ARG002
        return False

    def preview(self, action: str, params: ActionParams) -> Preview:
        """The cost depends on model and plan: only Leonardo's own calculator knows it."""
        if isinstance(params, Txt2ImgParams):
            seconds = 15.0 + 5.0 * params.count
            return Preview(None, "credits", params.width, params.height, params.count, seconds)
        return Preview(None, "credits", count=1, expected_seconds=40.0 if action == "upscale" else None)


def _api() -> Api:
    settings = LeonardoSettings()
    if settings.api_key is None:
        raise AuthenticationFailed("leonardo is not configured: set LEONARDO_API_KEY")
    key = settings.api_key.get_secret_value()
    return Api("leonardo", settings.base_url, {"Authorization": f"Bearer {key}"}, settings.timeout)


def _asked(api: Api, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    try:
        answer = api.get(path) if body is None else api.post(path, body)
    except ServerError as error:
        if "authorization hook" in str(error):
            # Its gateway answers 500 to a malformed key; trying that again is of no use.
            raise AuthenticationFailed("leonardo does not accept this API key", details=error.details) from error
        raise
    if not isinstance(answer, dict):
        raise ServerError("leonardo sent an answer of an unknown shape")
    return answer


def _submitted(api: Api, path: str, body: Mapping[str, Any], name: str) -> dict[str, Any]:
    job = _asked(api, path, body).get(name)
    return job if isinstance(job, dict) else {}


def _job_id(job: Mapping[str, Any], name: str) -> str:
    job_id = job.get(name)
    if not isinstance(job_id, str) or not job_id:
        raise ServerError("leonardo accepted the request but named no job")
    return job_id


def _submit_upscale(api: Api, params: UpscaleParams, source_data: SourceData | None) -> JobRef:
    body = {
        "upscalerStyle": params.style,
        "creativityStrength": params.creativity,
        "upscaleMultiplier": params.multiplier,
    } | _source(api, source_data, "initImageId", "generatedImageId")
    job = _submitted(api, "/variations/universal-upscaler", body, "universalUpscaler")
    return {"kind": "variation", "id": _job_id(job, "id"), "cost": job.get("apiCreditCost")}


def _source(api: Api, source_data: SourceData | None, uploaded: str, generated: str) -> dict[str, str]:
    """The image to work on: one that Leonardo made, or ours, uploaded first."""
    if source_data is not None and source_data.provider_id:
        return {generated: source_data.provider_id}
    if source_data is not None and source_data.image:
        return {uploaded: _upload(api, source_data.image)}
    raise InvalidInput("leonardo needs source_data with an image or a provider_id")


def _upload(api: Api, image: bytes) -> str:
    media_type = sniff(image[:HEAD_BYTES])
    if media_type not in UPLOAD_TYPES:
        raise InvalidInput(f"leonardo takes PNG, JPEG and WebP images, not {media_type or 'this'}")
    slot = _submitted(api, "/init-image", {"extension": EXTENSIONS[media_type]}, "uploadInitImage")
    try:
        fields, url = json.loads(slot["fields"]), slot["url"]
    except (KeyError, TypeError, ValueError) as error:
        raise ServerError("leonardo gave no place for the upload") from error
    # Another service (S3), which refuses requests that carry the API key.
    storage = Api("leonardo upload", "", timeout=api.timeout)
    storage.request("POST", url, data=fields, files={"file": ("image", image, media_type)})
    return _job_id(slot, "id")


def _status(job: Mapping[str, Any], urls: list[str], answer: dict[str, Any]) -> JobStatus:
    state = job.get("status")
    if state == "FAILED":
        error = ServerError("leonardo could not make it", details={"service": "leonardo"})
        return JobStatus("failed", message="Failed", raw=answer, error=error)
    if state != "COMPLETE":
        return JobStatus("running", message="Leonardo is working on it", raw=answer)
    if not urls:
        # Raised, not failed: it is paid for, and asking again may find it.
        raise ServerError("leonardo has completed the job but shows no output")
    return JobStatus("succeeded", 100.0, "Completed", [Output(url=url) for url in urls], answer)
