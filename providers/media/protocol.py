"""The interface of media providers, and the values that they exchange with the media actor."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

from pydantic import Base64Bytes, BaseModel, ConfigDict

from providers.errors import ProviderError

JobRef = dict[str, Any]
"""JSON that is kept in the task's checkpoint. Contains all that poll and cancel need, in any process."""


class ActionParams(BaseModel):
    """Base of the typed params of one action. The class variables tell what else the action needs."""

    model_config = ConfigDict(extra="forbid")

    needs_prompt: ClassVar[bool] = True
    needs_source: ClassVar[bool] = False


class SourceData(BaseModel):
    """The source of an action. The actor turns `url` and `content_id` into `image` before it submits."""

    model_config = ConfigDict(extra="forbid")

    image: Base64Bytes | None = None
    url: str | None = None
    content_id: str | None = None
    provider_id: str | None = None
    """The id of an image (Leonardo) or of a job (Midjourney) at the provider itself."""


@dataclass(frozen=True)
class Limits:
    concurrency: int = 1


@dataclass(frozen=True)
class Output:
    """One result: a URL to download, or the bytes themselves."""

    url: str | None = None
    data: bytes | None = None
    media_type: str | None = None


@dataclass(frozen=True)
class JobStatus:
    """The state of a job. `error` is the failure of the job; a failure of the request is raised by poll instead."""

    state: Literal["running", "succeeded", "failed"]
    percent: float | None = None
    message: str = ""
    outputs: list[Output] = field(default_factory=list)
    raw: dict[str, Any] = field(default_factory=dict)
    error: ProviderError | None = None


@dataclass(frozen=True)
class Preview:
    """The expected cost and output of an action; None where only the provider knows."""

    cost: float | None = None
    unit: str | None = None
    width: int | None = None
    height: int | None = None
    count: int | None = None
    expected_seconds: float | None = None


class MediaProvider(Protocol):
    """Raises only ProviderError. No method blocks for long: others share the event loop."""

    @property
    def name(self) -> str: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def actions(self) -> Mapping[str, type[ActionParams]]: ...
    @property
    def poll_seconds(self) -> float:
        """The pause between two polls."""

    @property
    def can_find(self) -> bool:
        """Whether None from `find` means that there is no such job. If it does not, a submission stays in doubt when
        our process died before it received the answer."""

    def find_missing_variable(self) -> str | None:
        """Returns the environment variable that has to be set first, None if the provider can be used."""

    async def submit(
        self,
        action: str,
        prompt: str | None,
        params: ActionParams,
        source_data: SourceData | None,
        idempotency_key: str,
    ) -> JobRef: ...
    async def find(self, idempotency_key: str) -> JobRef | None:
        """Returns the job that was submitted with this key, if the provider can search for it. Called before another
        submission if the answer to the first one was lost in a crash or with its connection."""

    async def poll(self, ref: JobRef) -> JobStatus: ...
    async def cancel(self, ref: JobRef) -> bool:
        """Cancels the job. Returns False if the provider cannot cancel, or the job has ended."""

    def preview(self, action: str, params: ActionParams) -> Preview:
        """Must not send a request."""
