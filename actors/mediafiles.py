"""The source images and the outputs of media jobs. Files are read and written in threads: a disk or a bucket may be
slow."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from broker import AsyncContext
from providers.download import DownloadPolicy, download
from providers.errors import InvalidInput
from providers.media.protocol import Output, SourceData
from providers.mediatypes import HEAD_BYTES, IMAGES, sniff
from state.errors import ContentNotFound
from state.finishing import finish
from state.media.contents import StoredBytes, get_content, read_content, store_bytes, store_file

MAX_SOURCE_BYTES = 32 * 1024 * 1024
_UNKNOWN_TYPE = "application/octet-stream"


async def resolve_source(ctx: AsyncContext, source: SourceData | None, folder: Path) -> SourceData | None:
    """Returns the source with its image, which is fetched from its URL or read from the content store."""
    if source is None or source.image is not None:
        return source
    if source.content_id is not None:
        image = await _read_own_content(ctx, source.content_id)
    elif source.url is not None:
        policy = DownloadPolicy.from_environment()
        # Whoever has submitted the task names this URL: no host inside is trusted.
        limit = min(policy.max_bytes, MAX_SOURCE_BYTES)
        policy = replace(policy, trusted_hosts=frozenset(), media_types=IMAGES, max_bytes=limit)
        ctx.progress(None, "Fetching the source")
        fetched = await download(source.url, folder, policy)
        image = await finish(asyncio.to_thread(_take_file, fetched.path))
    else:
        return source
    return source.model_copy(update={"image": image})


async def keep_outputs(ctx: AsyncContext, outputs: Sequence[Output], folder: Path) -> list[StoredBytes]:
    """Puts all outputs into the content store. Unfinished files are only in the folder."""
    stored: list[StoredBytes] = []
    for number, output in enumerate(outputs, start=1):
        if output.data is not None:
            stored.append(await _keep_data(ctx, output.data, output.media_type or _UNKNOWN_TYPE, folder))
        elif output.url is not None:
            ctx.progress(99, f"Downloading {number} of {len(outputs)}")
            stored.append(await _keep_download(ctx, output.url, folder))
    return stored


async def _keep_data(ctx: AsyncContext, data: bytes, media_type: str, folder: Path) -> StoredBytes:
    return await ctx.call(lambda _: store_bytes(data, media_type, folder))


async def _keep_download(ctx: AsyncContext, url: str, folder: Path) -> StoredBytes:
    got = await download(url, folder)
    return await ctx.call(lambda _: store_file(got.path, got.sha256, got.size, got.media_type))


async def _read_own_content(ctx: AsyncContext, content_id: str) -> bytes:
    try:
        row = await ctx.run_verb(lambda: get_content(content_id))
        if ctx.tenant is not None and row["tenant"] != ctx.tenant:
            raise ContentNotFound(content_id)  # of another tenant, so that its existence must not be visible
        if row["size"] > MAX_SOURCE_BYTES:
            raise InvalidInput(f"The source is larger than {MAX_SOURCE_BYTES} bytes: {content_id}")
        image = await ctx.call(lambda _: read_content(row))
    except ContentNotFound as missing:
        raise InvalidInput(f"source_data.content_id: {missing}") from None
    if sniff(image[:HEAD_BYTES]) not in IMAGES:
        raise InvalidInput(f"The source is not an image: {content_id} is {row['media_type']}")
    return image


def _take_file(file: Path) -> bytes:
    content = file.read_bytes()
    file.unlink()
    return content
