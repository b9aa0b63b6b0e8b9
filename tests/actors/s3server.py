"""The part of S3's REST API that a content store needs, after
https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations.html: path-style put, also in parts, get with
ranges, head, delete."""

import base64
import hashlib
import re

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.providers.servers.running import RunningServer

ACCESS_KEY = "AKIDTEST"
BUCKET = "pictures"


def problem(code: str, status: int) -> Response:
    body = f'<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>{code}</Message></Error>'
    return Response(body, status, media_type="application/xml")


class S3Server(RunningServer):
    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, str]] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}  # the parts of those that are not completed yet
        self.puts = 0
        self.failures = 0
        route = Route("/{bucket}/{key:path}", self._object, methods=["GET", "HEAD", "PUT", "POST", "DELETE"])
        super().__init__(Starlette(routes=[route]))

    async def _object(self, request: Request) -> Response:
        body = await request.body()
        if self.failures:
            self.failures -= 1
            return problem("InternalError", 500)
        signed = f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/"
        if not request.headers.get("authorization", "").startswith(signed):
            return problem("InvalidAccessKeyId", 403)
        if request.path_params["bucket"] != BUCKET:
            return problem("NoSuchBucket", 404)
        key = request.path_params["key"]
        if "uploads" in request.query_params or "uploadId" in request.query_params:
            return self._in_parts(request, key, body)
        if request.method == "PUT":
            return self._put(request, key, body)
        if request.method == "DELETE":
            self.objects.pop(key, None)  # one that is not there is no error
            return Response(status_code=204)
        if key not in self.objects:
            return problem("NoSuchKey", 404)
        data, media_type = self.objects[key]
        return self._part(request, data, media_type)

    def _put(self, request: Request, key: str, body: bytes) -> Response:
        digest = hashlib.sha256(body)
        checksum = base64.b64encode(digest.digest()).decode()
        if request.headers["x-amz-content-sha256"] != digest.hexdigest():
            return problem("XAmzContentSHA256Mismatch", 400)
        if request.headers.get("x-amz-checksum-sha256", checksum) != checksum:
            return problem("BadDigest", 400)
        self.objects[key] = body, request.headers["content-type"]
        self.puts += 1
        return Response(headers={"ETag": '"etag"'})

    def _in_parts(self, request: Request, key: str, body: bytes) -> Response:
        upload = request.query_params.get("uploadId")
        if upload is None:
            self.media_type = request.headers["content-type"]
            self.uploads[key] = {}
            xml = f"<InitiateMultipartUploadResult><UploadId>{key}</UploadId></InitiateMultipartUploadResult>"
            return Response(xml, media_type="application/xml")
        parts = self.uploads.get(upload)
        if parts is None or upload != key:
            return problem("NoSuchUpload", 404)
        if request.method == "PUT":
            parts[int(request.query_params["partNumber"])] = body
            return Response(headers={"ETag": f'"{hashlib.md5(body).hexdigest()}"'})
        listed = [int(number) for number in re.findall(rb"<PartNumber>(\d+)</PartNumber>", body)]
        too_small = any(len(parts[number]) < 5 * 1024 * 1024 for number in listed[:-1])
        if listed != sorted(parts) or too_small:
            return problem("EntityTooSmall" if too_small else "InvalidPart", 400)
        self.objects[key] = b"".join(parts[number] for number in listed), self.media_type
        del self.uploads[upload]
        xml = f"<CompleteMultipartUploadResult><Key>{key}</Key></CompleteMultipartUploadResult>"
        return Response(xml, media_type="application/xml")

    def _part(self, request: Request, data: bytes, media_type: str) -> Response:
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("range", ""))
        if wanted is None:
            return Response(data, media_type=media_type)
        start, end = int(wanted[1]), min(int(wanted[2] or len(data)), len(data) - 1)
        headers = {"Content-Range": f"bytes {start}-{end}/{len(data)}"}
        return Response(data[start : end + 1], 206, headers, media_type)
