"""The calls that the media actor makes of a provider, in short."""

from typing import Any

from providers.media import registry
from providers.media.protocol import JobRef, JobStatus, SourceData


def submit(
    name: str,
    action: str = "txt2img",
    prompt: str | None = "a cat",
    params: dict[str, Any] | None = None,
    source: SourceData | None = None,
    key: str = "key-1",
) -> JobRef:
    checked = registry.check(name, action, prompt, params or {}, source)
    return registry.get(name).submit(action, prompt, checked, source, key)


def poll_to_end(name: str, ref: JobRef) -> list[JobStatus]:
    """Every status up to the last."""
    statuses = [registry.get(name).poll(ref)]
    while statuses[-1].state == "running":
        statuses.append(registry.get(name).poll(ref))
        assert len(statuses) < 2000
    return statuses


def source_of(image: bytes) -> SourceData:
    return SourceData().model_copy(update={"image": image})
