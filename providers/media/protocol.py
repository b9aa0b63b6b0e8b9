"""What a media provider does, and the values that pass between it and the media actor."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

from pydantic import Base64Bytes, BaseModel, ConfigDict

from providers.errors import ProviderError

JobRef = dict[str, Any]
"""JSON-able, kept as the task's checkpoint: all that poll and cancel need, in any process."""


class ActionParams(BaseModel):
    """Base of the typed params of one action; its class variables say what the action needs besides them."""

    model_config = ConfigDict(extra="forbid")

    needs_prompt: ClassVar[bool] = True
    needs_source: ClassVar[bool] = False


class SourceData(BaseModel):
    """What an action works on. The actor turns `url` and `content_id` into `image` before it submits."""

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
    """How far a job is. A failed one has its error here; an error of *asking* is raised by poll instead."""

    state: Literal["running", "succeeded", "failed"]
    percent: float | None = None
    message: str = ""
    outputs: list[Output] = field(default_factory=list)
    raw: dict[str, Any] = field(default_factory=dict)
    error: ProviderError | None = None


@dataclass(frozen=True)
class Preview:
    """What an action would cost and give; None where that cannot be known without asking."""

    cost: float | None = None
    unit: str | None = None
    width: int | None = None
    height: int | None = None
    count: int | None = None
    expected_seconds: float | None = None


class MediaProvider(Protocol):
    """All methods are synchronous: they run in worker threads. They raise ProviderError and nothing else."""

    @property
    def name(self) -> str: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def actions(self) -> Mapping[str, type[ActionParams]]: ...
    @property
    def poll_seconds(self) -> float:
        """The pause to make between two polls."""

    @property
    def can_find(self) -> bool:
        """Whether None from `find` means that there is no such job. Where it does not, a submission whose answer
        was lost with us stays in doubt."""

    def available(self) -> str | None:
        """None, or the names of the environment variables that are missing."""

    def submit(
        self,
        action: str,
        prompt: str | None,
        params: ActionParams,
        source_data: SourceData | None,
        idempotency_key: str,
    ) -> JobRef: ...
    def find(self, idempotency_key: str) -> JobRef | None:
        """The job that was submitted with this key, where the provider can tell. To be asked before
        submitting again, when a crash or a broken connection has hidden the answer to the first time."""

    def poll(self, ref: JobRef) -> JobStatus: ...
    def cancel(self, ref: JobRef) -> bool:
        """Stop the job; False when the provider cannot, or the job is over."""

    def preview(self, action: str, params: ActionParams) -> Preview:
        """Known without calling out."""
