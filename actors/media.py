"""Media generation through any provider. The work goes on whoever watches; a paid-for job is not asked for twice."""

import time
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from broker import Context, task
from providers.errors import ProviderError
from providers.media import registry
from providers.media.protocol import JobStatus, Output, SourceData
from state import contents


class MediaRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    provider: str = "local"
    action_type: str = "txt2img"
    prompt: str | None = Field(None, max_length=20_000)
    params: dict[str, Any] = Field(default_factory=dict)
    source_data: SourceData | None = None
    workflow_run_id: str | None = None
    interaction_id: str | None = None

    @model_validator(mode="after")
    def _the_provider_can_do_this(self) -> "MediaRequest":
        try:
            registry.check(self.provider, self.action_type, self.prompt, self.params, self.source_data)
        except ProviderError as refused:
            raise ValueError(str(refused)) from None
        return self


class MediaResult(BaseModel):
    metadata_id: str
    content_ids: list[str]
    urls: list[str]


@task(queue="media", max_attempts=4, time_limit=3600)
def media_generation(ctx: Context, request: MediaRequest) -> MediaResult:
    """Generates media and keeps the contents."""
    generation_id = contents.begin_generation(
        ctx.task_id, ctx.epoch, request.provider, request.action_type, request.model_dump(mode="json")
    )
    try:
        status = _run_job(ctx, request)
        stored = [
            contents.store_bytes(_data(output), output.media_type or "application/octet-stream")
            for output in status.outputs
        ]
        content_ids = contents.finish_generation(ctx.task_id, ctx.epoch, raw_response=status.raw, contents=stored)
    except ProviderError as failed:
        contents.fail_generation(ctx.task_id, ctx.epoch, {"type": failed.type, "message": str(failed)})
        raise
    return MediaResult(
        metadata_id=generation_id,
        content_ids=content_ids,
        urls=[f"/api/v1/contents/{content_id}" for content_id in content_ids],
    )


def _run_job(ctx: Context, request: MediaRequest) -> JobStatus:
    """Submits unless an earlier attempt has, and follows the job to its end."""
    provider = registry.get(request.provider)
    job = ctx.checkpoint.get("job")
    if job is None:
        params = registry.check(
            request.provider, request.action_type, request.prompt, request.params, request.source_data
        )
        job = provider.submit(request.action_type, request.prompt, params, request.source_data, ctx.task_id)
        ctx.save(job=job)  # from here on we poll, whatever dies
    while (status := provider.poll(job)).state == "running":
        ctx.progress(status.percent, status.message)
        time.sleep(provider.poll_seconds)
    if status.error is not None:
        if status.error.category != "permanent":
            ctx.save(job=None)  # that job is over: the next attempt needs a new one
        raise status.error
    return status


def _data(output: Output) -> bytes:
    if output.data is None:
        raise ProviderError("This output has to be downloaded, which this version cannot do.")
    return output.data
