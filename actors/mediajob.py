"""A generation's job at its provider: asked for once, followed to its end by whoever runs the task.

What the checkpoint says: `submitting` is the key of a submission that has begun; `job` is the provider's answer to it;
`unanswered` is the key of one that failed in a way that leaves open whether it arrived; `request` is the fingerprint
of the request that they belong to (a dead task may be revived with an edited payload)."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel

from actors.interruptions import pause, uninterrupted
from broker import Context
from providers.errors import NotFound, ProviderError, RateLimited, ServiceUnavailable
from providers.media import registry
from providers.media.protocol import ActionParams, JobRef, JobStatus, SourceData
from state import get_task, jsonsafe

Source = Callable[[], SourceData | None]


class SubmissionInDoubt(ProviderError):
    """We died while the provider was being asked, and it cannot tell whether it has accepted. Asking again could mean
    to pay twice: that is for a person to decide."""

    category = "permanent"


class MediaJob:
    def __init__(self, ctx: Context, request: BaseModel, provider: str, action: str) -> None:
        self.raw: dict[str, Any] | None = None  # the provider's last answer
        self._ctx = ctx
        self._provider = registry.get(provider)
        self._action = action
        # Without defaults: a field that a later version adds must not make this another request.
        body = jsonsafe.dump(request.model_dump(mode="json", exclude_defaults=True))
        self._fingerprint = hashlib.sha256(body.encode()).hexdigest()

    def run(self, prompt: str | None, params: ActionParams, source: Source) -> JobStatus:
        """The end of the job, if it is a good one. Submits only when no earlier attempt has."""
        ref = self._known().get("job") or self._recovered() or self._submitted(prompt, params, source)
        status = self._followed(ref)
        if status.error is not None:
            self._ctx.save(job=None)  # that job is over: another attempt needs another one
            raise status.error
        return status

    def withdraw(self) -> None:
        """To be called when the code was interrupted. Only a cancel ends the job at the provider: after a pause, a
        shutdown or a lost lease somebody goes on with it."""
        try:
            task = get_task(self._ctx.task_id)
            if task.epoch != self._ctx.epoch or task.cancel_requested not in ("cancel", "force"):
                return
            ref = self._known().get("job") or self._found()
            if ref is not None:
                self._note_withdrawal(self._provider.cancel(ref))
        except Exception as failed:  # the task ends as canceled all the same
            self._ctx.log.warning("the provider was not asked to stop", error=str(failed))

    def _note_withdrawal(self, stopped: bool) -> None:
        self._ctx.receipt("provider canceled", provider=self._provider.name, stopped=stopped)

    def _known(self) -> Mapping[str, Any]:
        saved = self._ctx.checkpoint
        return saved if saved.get("request") == self._fingerprint else {}

    def _found(self) -> JobRef | None:
        key = self._known().get("submitting") or self._known().get("unanswered")
        return self._provider.find(key) if key else None

    def _recovered(self) -> JobRef | None:
        """The job of an earlier attempt that could not save it."""
        ref = self._found()
        if ref is not None:
            self._ctx.save(job=ref, submitting=None, unanswered=None)
        elif self._known().get("submitting") and not self._provider.can_find:
            self._ctx.save(submitting=None)  # whoever revives the task has decided
            name = self._provider.name
            raise SubmissionInDoubt(
                f"The worker died while it asked {name}, which cannot tell whether it has accepted the job. "
                f"Look there; a retry of this task asks for it again.",
                details={"service": name},
            )
        return ref

    def _submitted(self, prompt: str | None, params: ActionParams, source: Source) -> JobRef:
        self._ctx.progress(None, "Preparing")
        source_data = source()
        key = f"{self._ctx.task_id}.{self._ctx.epoch}"  # an execution submits once
        self._ctx.save(request=self._fingerprint, submitting=key, unanswered=None, job=None)
        self._ctx.progress(None, f"Asking {self._provider.name}")

        def ask() -> JobRef:
            try:
                ref = self._provider.submit(self._action, prompt, params, source_data, key)
            except ProviderError as failed:
                self._ctx.save(submitting=None, unanswered=key if _may_have_arrived(failed) else None)
                raise
            self._ctx.save(job=ref, submitting=None)  # from here on we poll, whatever dies
            return ref

        return uninterrupted(ask)

    def _followed(self, ref: JobRef) -> JobStatus:
        try:
            while (status := self._provider.poll(ref)).state == "running":
                self.raw = status.raw
                self._ctx.progress(status.percent, status.message)
                pause(self._provider.poll_seconds)
        except NotFound as gone:
            if "status" not in gone.details:  # said of this job; a plain 404 may be said of anything
                self._ctx.save(job=None)
            raise
        self.raw = status.raw
        return status


def _may_have_arrived(failed: ProviderError) -> bool:
    """Whether a submission that ended like this may have been accepted all the same."""
    refused = failed.category == "permanent" or isinstance(failed, RateLimited | ServiceUnavailable)
    return not refused and failed.details.get("sent") is not False
