"""The source images and the outputs of media jobs."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from broker import Context
from providers.download import DownloadPolicy, download
from providers.errors import InvalidInput
from providers.media.protocol import Output, SourceData
from providers.mediatypes import HEAD_BYTES, IMAGES, sniff
from state.errors import ContentNotFound
from state.media.contents import StoredBytes, get_content, read_content, store_bytes, store_file

MAX_SOURCE_BYTES = 32 * 1024 * 1024
_UNKNOWN_TYPE = "application/octet-stream"


def resolve_source(ctx: Context, source: SourceData | None, folder: Path) -> SourceData | None:
    """Returns the source with its image, which is fetched from its URL or read from the content store."""
    if source is None or source.image is not None:
        return source
    if source.content_id is not None:
        image = _read_own_content(source.content_id, ctx.tenant)
    elif source.url is not None:
        policy = DownloadPolicy.from_environment()
        # Whoever has submitted the task names this URL: no host inside is trusted.
        limit = min(policy.max_bytes, MAX_SOURCE_BYTES)
        policy = replace(policy, trusted_hosts=frozenset(), media_types=IMAGES, max_bytes=limit)
        ctx.progress(None, "Fetching the source")
        fetched = download(source.url, folder, policy).path
        image = fetched.read_bytes()
        fetched.unlink()
    else:
        return source
    return source.model_copy(update={"image": image})


def keep_outputs(ctx: Context, outputs: Sequence[Output], folder: Path) -> list[StoredBytes]:
    """Puts all outputs into the content store. Unfinished files are only in the folder."""
    stored: list[StoredBytes] = []
    for number, output in enumerate(outputs, start=1):
        if output.data is not None:
            stored.append(store_bytes(output.data, output.media_type or _UNKNOWN_TYPE, folder))
        elif output.url is not None:
            ctx.progress(99, f"Downloading {number} of {len(outputs)}")
            got = download(output.url, folder)
            stored.append(store_file(got.path, got.sha256, got.size, got.media_type))
    return stored


def _read_own_content(content_id: str, tenant: str | None) -> bytes:
    try:
        row = get_content(content_id)
        if tenant is not None and row["tenant"] != tenant:
            raise ContentNotFound(content_id)  # of another tenant, so that its existence must not be visible
        if row["size"] > MAX_SOURCE_BYTES:
            raise InvalidInput(f"The source is larger than {MAX_SOURCE_BYTES} bytes: {content_id}")
        image = read_content(row)
    except ContentNotFound as missing:
        raise InvalidInput(f"source_data.content_id: {missing}") from None
    if sniff(image[:HEAD_BYTES]) not in IMAGES:
        raise InvalidInput(f"The source is not an image: {content_id} is {row['media_type']}")
    return image
