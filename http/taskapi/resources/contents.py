"""Contents: the files that actors have made, whole or a range of bytes."""

import re
from collections.abc import Iterator
from mimetypes import guess_extension

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from state.errors import ContentNotFound
from state.logs import log
from state.media.contents import get_content
from state.media.stores import get_store
from state.tasks.ids import is_content_id
from taskapi.api.operation import PREFIX, Operation
from taskapi.api.parameters import TokenQuery
from taskapi.api.problems import Problem
from taskapi.api.verbs import run_verb

_RANGE = re.compile(r"bytes=(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))")


async def get_one(request: Request) -> Response:
    content = await run_verb(request, get_content, _parse_content_id(request))
    etag = f'"{content["sha256"]}"'
    name = content["id"] + (guess_extension(content["media_type"]) or "")
    headers = {
        "ETag": etag,
        "Cache-Control": "private, max-age=31536000, immutable",  # the bytes of an id never change
        "Accept-Ranges": "bytes",
        "Content-Disposition": f'inline; filename="{name}"',
        # A provider may have sent a page with scripts, which must not run with the rights of our origin.
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        "X-Content-Type-Options": "nosniff",
    }
    if _matches(request.headers.get("if-none-match", ""), etag):
        return Response(status_code=304, headers=headers)
    status, start, length = 200, 0, content["size"]
    requested = _parse_range(request, etag, content["size"])
    if requested is not None:
        status, start, length = 206, *requested
        headers["Content-Range"] = f"bytes {start}-{start + length - 1}/{content['size']}"
    headers["Content-Length"] = str(length)
    if request.method == "HEAD":
        return Response(None, status, headers, content["media_type"])
    chunks = await run_in_threadpool(_open, content["id"], content["sha256"], start, length)
    return StreamingResponse(chunks, status, headers, content["media_type"])


def _parse_content_id(request: Request) -> str:
    content_id: str = request.path_params["content_id"]
    if not is_content_id(content_id):
        raise ContentNotFound(content_id)
    return content_id


def _open(content_id: str, sha256: str, start: int, length: int) -> Iterator[bytes]:
    try:
        return get_store().stream(sha256, start, length)
    except ContentNotFound:
        log.error("content without its bytes", content_id=content_id, sha256=sha256)
        raise Problem("content-bytes-missing", f"The bytes of {content_id} are not in the content store.") from None


def _matches(if_none_match: str, etag: str) -> bool:
    known = [each.strip().removeprefix("W/") for each in if_none_match.split(",")]
    return etag in known or "*" in known


def _parse_range(request: Request, etag: str, size: int) -> tuple[int, int] | None:
    """Returns start and length of a single range. Returns None, which means the whole content, if there is no Range
    header, if it is malformed, or if it names several ranges."""
    match = _RANGE.fullmatch(request.headers.get("range", "").replace(" ", ""))
    if match is None or request.headers.get("if-range", etag) != etag:
        return None
    first, last, tail = match.groups()
    start = max(size - int(tail), 0) if tail else int(first)
    end = min(int(last) + 1, size) if last else size
    if last and int(last) < int(first):
        return None
    if start >= size:
        message = f"The content has {size} bytes."
        raise Problem("range-not-satisfiable", message, headers={"Content-Range": f"bytes */{size}"})
    return start, end - start


OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/contents/{{content_id}}",
        get_one,
        "Download a file that an actor has made",
        {200: "*/*", 206: "*/*", 304: None},
        query=TokenQuery,
        headers=("Range", "If-None-Match"),
        sends=("ETag", "Accept-Ranges", "Content-Range", "Cache-Control"),
        by_token=True,
        problems=("content-not-found", "content-bytes-missing", "range-not-satisfiable", "content-store-failed"),
        role="reader",
        scope="tenant",
    ),
]
