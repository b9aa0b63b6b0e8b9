"""A generation's job at its provider. It is submitted once, and polled by any later attempt of the task.

The checkpoint contains `submitting`, the key of a submission that has begun; `job`, the provider's answer to it;
`unanswered`, the key of a submission that failed but may have been accepted; and `request`, the fingerprint of the
request that these belong to, because a dead task may be revived with an edited payload."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from pydantic import BaseModel

from broker import AsyncContext
from providers.errors import NotFound, ProviderError, RateLimited, ServiceUnavailable, TooEarly
from providers.genai import trace_call
from providers.media import registry
from providers.media.protocol import ActionParams, JobRef, JobStatus, SourceData
from state import get_task, jsonsafe

Source = Callable[[], Awaitable[SourceData | None]]


class SubmissionInDoubt(ProviderError):
    """The worker died during a submission, and the provider cannot tell whether it has accepted the job. Another
    submission might be paid for twice, so a person has to decide."""

    category = "permanent"


class MediaJob:
    def __init__(self, ctx: AsyncContext, fingerprint: str, provider: str, action: str) -> None:
        self.raw: dict[str, Any] | None = None  # the provider's last answer
        self._ctx = ctx
        self._fingerprint = fingerprint
        self._provider = registry.get(provider)
        self._action = action

    async def run(self, prompt: str | None, params: ActionParams, source: Source) -> JobStatus:
        """Returns the status of the job after its success. Submits it only if no earlier attempt has."""
        ref = self._read_checkpoint().get("job") or await self._recover_job()
        status = await self._poll_job(ref or await self._submit_job(prompt, params, source))
        if status.error is not None:
            await self._ctx.save(job=None)  # the job has ended, so the next attempt needs a new one
            raise status.error
        return status

    async def withdraw(self) -> None:
        """Cancels the job at the provider if the task was canceled. After a pause, a shutdown or a lost lease another
        attempt continues with the job."""
        try:
            task = await self._ctx.run_verb(partial(get_task, self._ctx.task_id))
            if task.epoch != self._ctx.epoch or task.cancel_requested not in ("cancel", "force"):
                return
            ref = self._read_checkpoint().get("job") or await self._find_job()
            if ref is not None:
                stopped = await self._provider.cancel(ref)
                self._ctx.receipt("provider canceled", provider=self._provider.name, stopped=stopped)
        except Exception as failed:  # the task ends as canceled nevertheless
            self._ctx.log.warning("the job at the provider was not canceled", error=str(failed))

    def _read_checkpoint(self) -> Mapping[str, Any]:
        saved = self._ctx.checkpoint
        return saved if saved.get("request") == self._fingerprint else {}

    async def _find_job(self) -> JobRef | None:
        key = self._read_checkpoint().get("submitting") or self._read_checkpoint().get("unanswered")
        return await self._provider.find(key) if key else None

    async def _recover_job(self) -> JobRef | None:
        """Returns the job of an earlier attempt that could not save it, if there is one."""
        ref = await self._find_job()
        if ref is not None:
            await self._ctx.save(job=ref, submitting=None, unanswered=None)
        elif self._read_checkpoint().get("submitting") and not self._provider.can_find:
            await self._ctx.save(submitting=None)  # so that a person who revives the task has decided to submit again
            name = self._provider.name
            raise SubmissionInDoubt(
                f"The worker died while it submitted a job to {name}, which cannot tell whether it has accepted it. "
                f"Look there; a retry of this task submits the job again.",
                details={"service": name},
            )
        return ref

    async def _submit_job(self, prompt: str | None, params: ActionParams, source: Source) -> JobRef:
        self._ctx.progress(None, "Preparing")
        source_data = await source()
        self._ctx.progress(None, f"Asking {self._provider.name}")
        # An interrupt would lose the answer, which has been paid for.
        return await self._ctx.shielded(self._ask_provider(prompt, params, source_data))

    async def _ask_provider(self, prompt: str | None, params: ActionParams, source_data: SourceData | None) -> JobRef:
        key = f"{self._ctx.task_id}.{self._ctx.epoch}"  # unique, because an execution submits once
        await self._ctx.save(request=self._fingerprint, submitting=key, unanswered=None, job=None)
        try:
            with trace_call("generate_content", self._provider.name):
                ref = await self._provider.submit(self._action, prompt, params, source_data, key)
        except ProviderError as failed:
            await self._ctx.save(submitting=None, unanswered=key if _may_have_arrived(failed) else None)
            raise
        await self._ctx.save(job=ref, submitting=None)  # from here on any attempt polls this job
        return ref

    async def _poll_job(self, ref: JobRef) -> JobStatus:
        try:
            while (status := await self._provider.poll(ref)).state == "running":
                self.raw = status.raw
                self._ctx.progress(status.percent, status.message)
                await asyncio.sleep(self._provider.poll_seconds)
        except NotFound as missing:
            if "status" not in missing.details:  # the provider means this job; an HTTP 404 may mean anything
                await self._ctx.save(job=None)
            raise
        self.raw = status.raw
        return status


def make_fingerprint(request: BaseModel) -> str:
    """Returns a hash of the request, which may contain an image. Without defaults, so that a field that a later version
    adds does not change it."""
    body = jsonsafe.dump(request.model_dump(mode="json", exclude_defaults=True))
    return hashlib.sha256(body.encode()).hexdigest()


def _may_have_arrived(failed: ProviderError) -> bool:
    """Returns whether a submission that failed like this may have been accepted nevertheless. A Conflict may be one
    with our own job."""
    refused = failed.category == "permanent" or isinstance(failed, RateLimited | ServiceUnavailable | TooEarly)
    return not refused and failed.details.get("sent") is not False
