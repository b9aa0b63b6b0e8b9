"""The calls that the media actor makes, in short, for tests that are not async."""

from pathlib import Path
from typing import Any

from providers import download as downloads
from providers import upload as uploads
from providers.blocking import wait_for
from providers.download import Download, DownloadPolicy
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
    return wait_for(registry.get(name).submit(action, prompt, checked, source, key))


def find(name: str, key: str) -> JobRef | None:
    return wait_for(registry.get(name).find(key))


def poll(name: str, ref: JobRef) -> JobStatus:
    return wait_for(registry.get(name).poll(ref))


def poll_to_end(name: str, ref: JobRef) -> list[JobStatus]:
    """Every status up to the last."""
    statuses = [poll(name, ref)]
    while statuses[-1].state == "running":
        statuses.append(poll(name, ref))
        assert len(statuses) < 2000
    return statuses


def cancel(name: str, ref: JobRef) -> bool:
    return wait_for(registry.get(name).cancel(ref))


def source_of(image: bytes) -> SourceData:
    return SourceData().model_copy(update={"image": image})


def download(url: str, folder: Path, policy: DownloadPolicy | None = None) -> Download:
    return wait_for(downloads.download(url, folder, policy))


def upload(url: str, service: str, seconds: float, **body: Any) -> None:
    wait_for(uploads.upload(url, service, seconds, **body))
