"""Contents in a bucket of S3, or of a service with its protocol. boto3 finds the credentials."""

import base64
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from state.errors import ContentNotFound, ContentStoreFailed
from state.media.stores import make_key, read_chunks

_R = TypeVar("_R")
_ABSENT = ("404", "NoSuchKey", "NotFound")
_SINGLE_PUT = 64 * 1024 * 1024  # bytes; larger files are sent in parts, whose hash S3 cannot check


class S3Store:
    def __init__(self, url: str, endpoint: str | None, region: str | None) -> None:
        boto3 = importlib.import_module("boto3")
        botocore = importlib.import_module("botocore.config")
        self._failures: tuple[type[Exception], ...] = (
            importlib.import_module("botocore.exceptions").BotoCoreError,
            importlib.import_module("botocore.exceptions").ClientError,
            importlib.import_module("boto3.exceptions").Boto3Error,
        )
        parts = urlsplit(url)
        self._bucket = parts.netloc
        self._prefix = parts.path.strip("/")
        config = botocore.Config(
            connect_timeout=5,
            read_timeout=30,
            retries={"max_attempts": 3, "mode": "standard"},
            # Services that only resemble S3 support neither buckets as host names nor its newest checksums.
            s3={"addressing_style": "path" if endpoint else "auto"},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        session = boto3.session.Session()
        self._client: Any = session.client("s3", endpoint_url=endpoint, region_name=region, config=config)
        # Bytes are removed while the database holds a lock, which it does not for long.
        once = config.merge(botocore.Config(read_timeout=10, retries={"max_attempts": 0, "mode": "standard"}))
        self._remover: Any = session.client("s3", endpoint_url=endpoint, region_name=region, config=once)

    def put(self, file: Path, sha256: str, media_type: str) -> None:
        # Without looking first: the credentials may allow writing only, and the same bytes again change nothing.
        if file.stat().st_size > _SINGLE_PUT:
            extra = {"ContentType": media_type}
            self._call(
                sha256, lambda: self._client.upload_file(str(file), self._bucket, self._key(sha256), ExtraArgs=extra)
            )
            return
        with file.open("rb") as body:
            self._call(
                sha256,
                lambda: self._client.put_object(
                    Bucket=self._bucket,
                    Key=self._key(sha256),
                    Body=body,
                    ContentType=media_type,
                    ChecksumSHA256=base64.b64encode(bytes.fromhex(sha256)).decode(),
                ),
            )

    def remove(self, sha256: str) -> None:
        self._call(sha256, lambda: self._remover.delete_object(Bucket=self._bucket, Key=self._key(sha256)))

    def exists(self, sha256: str) -> bool:
        try:
            self._call(sha256, lambda: self._client.head_object(Bucket=self._bucket, Key=self._key(sha256)))
        except ContentNotFound:
            return False
        return True

    def path(self, sha256: str) -> Path | None:  # noqa: ARG002
        return None

    def stream(self, sha256: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        if length is not None and length <= 0:
            return iter(())
        wanted: dict[str, str] = {}
        if start or length is not None:
            wanted["Range"] = f"bytes={start}-{'' if length is None else start + length - 1}"
        answer = self._call(
            sha256, lambda: self._client.get_object(Bucket=self._bucket, Key=self._key(sha256), **wanted)
        )
        return self._translate_errors(read_chunks(answer["Body"], length))

    def _key(self, sha256: str) -> str:
        return f"{self._prefix}/{make_key(sha256)}" if self._prefix else make_key(sha256)

    def _call(self, sha256: str, request: Callable[[], _R]) -> _R:
        try:
            return request()
        except self._failures as failed:
            response: dict[str, Any] = getattr(failed, "response", {})
            if response.get("Error", {}).get("Code") in _ABSENT:
                raise ContentNotFound(sha256) from None
            raise ContentStoreFailed(f"The content store refused the request: {failed}") from failed

    def _translate_errors(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        try:
            yield from chunks
        except self._failures as failed:
            raise ContentStoreFailed(f"The content store did not send all of the content: {failed}") from failed
