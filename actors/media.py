"""Media generation by any provider. A job that has been paid for is not submitted twice."""

import hashlib
from functools import partial
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from actors.field_errors import make_field_error
from actors.mediafiles import keep_outputs, resolve_source
from actors.mediajob import MediaJob, make_fingerprint
from broker import AsyncContext, task
from providers.errors import InvalidInput, ProviderError
from providers.media import registry
from providers.media.protocol import SourceData
from state import LeaseLost, jsonsafe
from state.finishing import open_in_threads
from state.gates import Gate
from state.media import generations
from state.media.contents import scratch_folder
from state.media.generations import Begun


class MediaRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    provider: str = "local"
    action_type: str = "txt2img"
    prompt: str | None = Field(None, max_length=20_000)
    prompt_id: str | None = Field(None, min_length=1, max_length=200)
    params: dict[str, Any] = Field(default_factory=dict)
    source_data: SourceData | None = None
    workflow_run_id: str | None = None
    interaction_id: str | None = None

    @model_validator(mode="after")
    def _check_request(self) -> "MediaRequest":
        if self.prompt is not None and self.prompt_id is not None:
            raise ValueError("give prompt or prompt_id, not both")
        if self.source_data is not None and not any(value for _, value in self.source_data):
            raise ValueError("source_data needs an image, url, content_id or provider_id")
        try:  # a stored prompt is not read before the task runs
            registry.check(
                self.provider, self.action_type, self.prompt_id or self.prompt, self.params, self.source_data
            )
        except ProviderError as refused:
            wrong = refused.details.get("errors")
            if wrong:
                raise make_field_error("params", wrong[0]["loc"], str(refused)) from None
            raise ValueError(str(refused)) from None
        return self


class MediaResult(BaseModel):
    metadata_id: str
    content_ids: list[str]
    urls: list[str]


def provider_gate(request: MediaRequest) -> list[Gate]:
    return [_make_gate(request.provider)]


def _make_gate(provider: str) -> Gate:
    """Returns the provider's gate: its limit and its breaker apply to all machines."""
    return Gate(f"provider:{provider}", registry.get_concurrency(provider), breaker=provider != "local")


def list_known_gates() -> list[Gate]:
    return [_make_gate(provider) for provider in registry.list_names()]


@task(queue="media", time_limit=3600, gates=provider_gate, known_gates=list_known_gates)
async def media_generation(ctx: AsyncContext, request: MediaRequest) -> MediaResult:
    """Generates media and stores the contents."""
    return await generate_media(ctx, request)


async def generate_media(ctx: AsyncContext, request: MediaRequest) -> MediaResult:
    """Generates media in the task of any actor, which has one generation."""
    begun, fingerprint = await ctx.run_verb(partial(_begin, ctx, request))
    if begun.content_ids is not None:
        return _make_result(begun.id, begun.content_ids)
    job = MediaJob(ctx, fingerprint, request.provider, request.action_type)
    try:
        return _make_result(begun.id, await _generate(ctx, request, begun, job))
    except LeaseLost:
        raise
    except Exception as failed:
        await _record_failure(ctx, failed, job.raw)
        raise
    finally:
        if ctx.canceled:
            await job.withdraw()


def _begin(ctx: AsyncContext, request: MediaRequest) -> tuple[Begun, str]:
    """Returns the generation and the request's fingerprint. Hashes an image, so it is called in a thread."""
    begun = generations.begin_generation(
        ctx.worker,
        ctx.task_id,
        ctx.epoch,
        provider=request.provider,
        action_type=request.action_type,
        prompt=request.prompt,
        prompt_id=request.prompt_id,
        request=_record_request(request),
    )
    return begun, make_fingerprint(request)


async def _generate(ctx: AsyncContext, request: MediaRequest, begun: Begun, job: MediaJob) -> list[str]:
    if request.prompt_id is not None and begun.prompt is None:
        raise InvalidInput(f"There is no prompt {request.prompt_id!r}.")
    params = registry.check(request.provider, request.action_type, begun.prompt, request.params, request.source_data)
    async with open_in_threads(scratch_folder(ctx.task_id, ctx.epoch)) as folder:
        status = await job.run(begun.prompt, params, lambda: resolve_source(ctx, request.source_data, folder))
        stored = await keep_outputs(ctx, status.outputs, folder)
    fence = (ctx.worker, ctx.task_id, ctx.epoch)
    return await ctx.run_verb(lambda: generations.finish_generation(*fence, raw_response=status.raw, contents=stored))


def _record_request(request: MediaRequest) -> dict[str, Any]:
    """Returns the request for the generation's row, with only the hash of an image, which is in the payload already."""
    record: dict[str, Any] = request.model_dump(mode="json", exclude={"source_data": {"image"}})
    if request.source_data is not None and request.source_data.image is not None:
        record["source_data"]["image_sha256"] = hashlib.sha256(request.source_data.image).hexdigest()
    return record


async def _record_failure(ctx: AsyncContext, failed: Exception, raw: dict[str, Any] | None) -> None:
    error = {
        "type": type(failed).__name__,
        "message": jsonsafe.clean_text(str(failed)),
        "category": getattr(failed, "category", "unknown"),
        "details": getattr(failed, "details", {}),
    }
    try:
        await ctx.run_verb(partial(generations.fail_generation, ctx.worker, ctx.task_id, ctx.epoch, error, raw))
    except Exception as unwritten:  # the task must end with the reason of the failure
        ctx.log.warning("the generation's failure was not written", error=str(unwritten))


def _make_result(generation_id: str, content_ids: list[str]) -> MediaResult:
    urls = [f"/api/v1/contents/{content_id}" for content_id in content_ids]
    return MediaResult(metadata_id=generation_id, content_ids=content_ids, urls=urls)
