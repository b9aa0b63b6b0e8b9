"""Provider `midjourney`: the API of midjourney-proxy (https://github.com/novicezk/midjourney-proxy), because Midjourney
has no official one. The idempotency key is sent as `state`, which the proxy stores with the job."""

import asyncio
import base64
import re
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from providers.api import Api
from providers.errors import (
    AuthenticationFailed,
    Conflict,
    InvalidInput,
    NotFound,
    ProviderError,
    RateLimited,
    ServerError,
    ServiceUnavailable,
)
from providers.media.protocol import ActionParams, JobRef, JobStatus, Limits, Output, Preview, SourceData
from providers.mediatypes import HEAD_BYTES, IMAGES, sniff
from providers.settings import MidjourneySettings, read

SUCCESS, NOT_FOUND, INVALID, EXISTED, QUEUED, QUEUE_FULL, BANNED = 1, 3, 4, 21, 22, 23, 24
_MESSAGES = {"NOT_START": "Waiting", "SUBMITTED": "Submitted", "IN_PROGRESS": "In progress"}
_REFUSED = re.compile(r"(?i)banned|invalid|moderat|blocked|sensitive|inappropriate|not allowed")


class ImagineParams(ActionParams):
    """Midjourney takes these params as flags after the prompt."""

    aspect_ratio: str | None = Field(None, pattern=r"^\d{1,3}:\d{1,3}$")
    version: str | None = Field(None, pattern=r"^(niji )?\d(\.\d)?$")
    stylize: int | None = Field(None, ge=0, le=1000)
    chaos: int | None = Field(None, ge=0, le=100)
    seed: int | None = Field(None, ge=0, lt=2**32)
    negative_prompt: str | None = Field(None, pattern=r"^[^-]+$")

    def format_flags(self) -> str:
        version = f"--{self.version}" if (self.version or "").startswith("niji") else f"--v {self.version}"
        flags = [
            (self.aspect_ratio, f"--ar {self.aspect_ratio}"),
            (self.version, version),
            (self.stylize, f"--stylize {self.stylize}"),
            (self.chaos, f"--chaos {self.chaos}"),
            (self.seed, f"--seed {self.seed}"),
            (self.negative_prompt, f"--no {self.negative_prompt}"),
        ]
        return "".join(f" {flag}" for value, flag in flags if value is not None)


class Img2ImgParams(ImagineParams):
    needs_source = True


class RerollParams(ActionParams):
    """The source is a finished job of this proxy: `source_data.provider_id`."""

    needs_prompt = False
    needs_source = True


class ChangeParams(RerollParams):
    index: int = Field(ge=1, le=4)
    """The number of the picture among the four."""


class DescribeParams(ActionParams):
    needs_prompt = False
    needs_source = True


class MidjourneyProvider:
    name = "midjourney"
    limits = Limits(concurrency=1)
    poll_seconds = 3.0
    can_find = True
    actions: Mapping[str, type[ActionParams]] = {
        "txt2img": ImagineParams,
        "img2img": Img2ImgParams,
        "upscale": ChangeParams,
        "variation": ChangeParams,
        "reroll": RerollParams,
        "describe": DescribeParams,
    }

    def find_missing_variable(self) -> str | None:
        return None if read(MidjourneySettings).base_url else "MIDJOURNEY_BASE_URL"

    async def submit(
        self,
        action: str,
        prompt: str | None,
        params: ActionParams,
        source_data: SourceData | None,
        idempotency_key: str,
    ) -> JobRef:
        path, body = await asyncio.to_thread(_build_request, action, prompt, params, source_data)  # encodes an image
        answer = await _make_api().post(path, body | {"state": idempotency_key})
        if not isinstance(answer, dict):
            raise ServerError("midjourney sent JSON of an unknown structure")
        if answer.get("code") in (SUCCESS, EXISTED, QUEUED) and answer.get("result"):
            return {"id": str(answer["result"])}
        raise _make_refusal(answer, path)

    async def find(self, idempotency_key: str) -> JobRef | None:
        tasks = await _make_api().get("/task/list")
        for task in tasks if isinstance(tasks, list) else []:
            if task.get("state") == idempotency_key:
                return {"id": str(task["id"])}
        return None

    async def poll(self, ref: JobRef) -> JobStatus:
        task = await _fetch_task(ref)
        state, percent = task.get("status"), _read_percent(task)
        if state in ("FAILURE", "CANCEL"):
            return JobStatus("failed", percent, "Failed", raw=task, error=_make_failure(task))
        if state == "SUCCESS":
            return JobStatus("succeeded", 100.0, "Completed", [_read_output(task)], task)
        return JobStatus("running", percent, _MESSAGES.get(str(state), "Waiting"), raw=task)

    async def cancel(self, ref: JobRef) -> bool:
        """Only some proxies (trueai-org's) can cancel; the original has no such route."""
        try:
            await _make_api().post(f"/task/{ref['id']}/cancel", {})
            return (await _fetch_task(ref)).get("status") in ("FAILURE", "CANCEL")
        except (NotFound, InvalidInput, Conflict):  # the job has ended
            return False

    def preview(self, action: str, params: ActionParams) -> Preview:  # noqa: ARG002
        """Returns no cost and no size: the cost is minutes of a subscription, and the size depends on the version."""
        return Preview(count=1, expected_seconds=15.0 if action in ("describe", "upscale") else 60.0)


def _make_api() -> Api:
    settings = read(MidjourneySettings)
    if settings.base_url is None:
        raise AuthenticationFailed("midjourney is not configured: set MIDJOURNEY_BASE_URL")
    secret = settings.api_key.get_secret_value() if settings.api_key else None
    headers = {"mj-api-secret": secret} if secret else None
    return Api("midjourney", settings.base_url, headers, settings.timeout)


def _build_request(
    action: str, prompt: str | None, params: ActionParams, source_data: SourceData | None
) -> tuple[str, dict[str, Any]]:
    if isinstance(params, ImagineParams):
        images = [_make_data_url(source_data)] if params.needs_source else []
        return "/submit/imagine", {"prompt": f"{prompt}{params.format_flags()}", "base64Array": images}
    if isinstance(params, DescribeParams):
        return "/submit/describe", {"base64": _make_data_url(source_data)}
    if source_data is None or not source_data.provider_id:
        raise InvalidInput(f"midjourney {action} needs source_data with the provider_id of a finished job")
    body = {"taskId": source_data.provider_id, "action": action.upper()}
    return "/submit/change", body | params.model_dump()


def _make_data_url(source_data: SourceData | None) -> str:
    if source_data is None or not source_data.image:
        raise InvalidInput("midjourney needs source_data with an image")
    media_type = sniff(source_data.image[:HEAD_BYTES])
    if media_type not in IMAGES:
        raise InvalidInput("The source is not an image")
    return f"data:{media_type};base64,{base64.b64encode(source_data.image).decode()}"


def _make_refusal(answer: Mapping[str, Any], path: str) -> ProviderError:
    code = answer.get("code")
    kinds: dict[Any, type[ProviderError]] = {
        INVALID: InvalidInput,
        BANNED: InvalidInput,
        QUEUE_FULL: RateLimited,
        # Without a source job, the proxy means that it found no free Discord account.
        NOT_FOUND: NotFound if path == "/submit/change" else ServiceUnavailable,
    }
    details = {"service": "midjourney", "code": code, "properties": answer.get("properties")}
    text = f"midjourney refused the job (code {code}): {answer.get('description')}"
    return kinds.get(code, ServerError)(text, details=details)


async def _fetch_task(ref: JobRef) -> dict[str, Any]:
    task = await _make_api().get(f"/task/{ref['id']}/fetch")
    if not isinstance(task, dict):
        raise NotFound(f"midjourney has no job {ref['id']}")
    return task


def _read_percent(task: Mapping[str, Any]) -> float | None:
    match = re.search(r"(\d{1,3})\s*%", str(task.get("progress") or ""))
    return min(float(match.group(1)), 100.0) if match else None


def _make_failure(task: Mapping[str, Any]) -> ProviderError:
    reason = str(task.get("failReason") or "no reason given")
    details = {"service": "midjourney", "reason": reason}
    kind: type[ProviderError] = InvalidInput if _REFUSED.search(reason) else ServerError
    return kind(f"midjourney failed to run the job: {reason}", details=details)


def _read_output(task: Mapping[str, Any]) -> Output:
    if task.get("action") == "DESCRIBE":
        text = (task.get("properties") or {}).get("finalPrompt") or task.get("prompt")
        if text:
            return Output(data=str(text).encode(), media_type="text/plain; charset=utf-8")
    elif task.get("imageUrl"):
        return Output(url=task["imageUrl"])
    raise ServerError("midjourney has completed the job but returned no output")
