"""Leonardo.Ai's REST API, after https://docs.leonardo.ai/reference and its list of error messages."""

import json
import uuid
from email.parser import BytesParser
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.providers.servers.faults import Faults
from tests.providers.servers.jobs import Job, Jobs, picture
from tests.providers.servers.running import RunningServer

KEY = "11111111-2222-3333-4444-555555555555"
GENERATION_WORDS = {
    "prompt", "width", "height", "num_images", "modelId", "negative_prompt", "presetStyle", "guidance_scale",
    "seed", "alchemy", "public", "init_image_id", "init_generation_image_id", "init_strength",
}  # fmt: skip
UPSCALE_WORDS = {
    "upscalerStyle", "creativityStrength", "upscaleMultiplier", "initImageId", "generatedImageId", "prompt",
}  # fmt: skip


def problem(text: str, status: int, code: str = "unexpected") -> JSONResponse:
    return JSONResponse({"error": text, "path": "$", "code": code}, status)


class LeonardoServer(RunningServer):
    def __init__(self, port: int = 0, seconds: float = 0.0) -> None:
        self._seconds = seconds
        self.reset()
        root = "/api/rest/v1"
        routes = [
            Route(f"{root}/generations", self._create, methods=["POST"]),
            Route(f"{root}/generations/{{id}}", self._generation),
            Route(f"{root}/variations/universal-upscaler", self._upscale, methods=["POST"]),
            Route(f"{root}/variations/{{id}}", self._variation),
            Route(f"{root}/init-image", self._init_image, methods=["POST"]),
            Route("/upload/{id}", self._upload, methods=["POST"]),
            Route("/images/{id}/{number:int}.png", self._image),
        ]
        super().__init__(Starlette(routes=routes), port)
        self.base_url = f"{self.origin}{root}"

    def reset(self) -> None:
        self.jobs = Jobs(seconds=self._seconds)
        self.faults = Faults()
        self.uploads: dict[str, bytes | None] = {}

    def _refused(self, request: Request) -> Response | None:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or len(key) != len(KEY):
            return problem("Invalid response from authorization hook", 500)
        if key != KEY:
            return problem("Authentication hook unauthorized this request", 401, "access-denied")
        return None

    async def _accept(self, request: Request, words: set[str]) -> tuple[Response | None, dict[str, Any]]:
        body = await request.json()
        refused = self._refused(request) or await self.faults.answer(request, "submit", body.get("prompt", ""))
        if refused:
            return refused, body
        unknown = sorted(set(body) - words)
        if unknown:
            return problem(f"Unexpected variable {unknown[0]}", 400, "bad-request"), body
        uploaded = body.get("init_image_id") or body.get("initImageId")
        if uploaded and self.uploads.get(uploaded) is None:
            return problem("invalid init image id", 400), body
        return None, body

    async def _create(self, request: Request) -> Response:
        refused, body = await self._accept(request, GENERATION_WORDS)
        if refused:
            return refused
        if not body.get("prompt"):
            return problem('expecting a value for non-nullable variable: "prompt"', 400, "validation-failed")
        if "naked" in body["prompt"]:
            return problem("content moderation filter: naked", 403)
        if any(not 32 <= body.get(side, 512) <= 1536 or body.get(side, 512) % 8 for side in ("width", "height")):
            return problem("invalid dimensions", 400)
        job = self.jobs.start("generation", body)
        return JSONResponse({"sdGenerationJob": {"generationId": job.id, "apiCreditCost": 11}})

    async def _upscale(self, request: Request) -> Response:
        refused, body = await self._accept(request, UPSCALE_WORDS)
        if refused:
            return refused
        job = self.jobs.start("variation", body)
        return JSONResponse({"universalUpscaler": {"id": job.id, "apiCreditCost": 5}})

    async def _polled(self, request: Request) -> tuple[Response | None, Job | None]:
        refused = self._refused(request) or await self.faults.answer(request, "poll")
        return refused, None if refused else self.jobs.poll(request.path_params["id"])

    async def _generation(self, request: Request) -> Response:
        refused, job = await self._polled(request)
        if refused or job is None:
            return refused or JSONResponse({"generations_by_pk": None})
        count = job.request.get("num_images", 4) if self._status(job) == "COMPLETE" else 0
        images = [
            {"id": str(uuid.uuid4()), "nsfw": False, "url": self._url(job, number), "likeCount": 0}
            for number in range(0 if "no-output" in job.prompt else count)
        ]
        found = {"id": job.id, "status": self._status(job), "prompt": job.prompt, "generated_images": images}
        return JSONResponse({"generations_by_pk": found})

    async def _variation(self, request: Request) -> Response:
        refused, job = await self._polled(request)
        if refused or job is None:
            return refused or JSONResponse({"generated_image_variation_generic": []})
        status = self._status(job)
        url = self._url(job, 0) if status == "COMPLETE" else None
        found = {"id": job.id, "status": status, "url": url, "transformType": "UPSCALE"}
        return JSONResponse({"generated_image_variation_generic": [found]})

    def _status(self, job: Job) -> str:
        if not job.is_done:
            return "PENDING"
        return "FAILED" if "fails" in job.prompt else "COMPLETE"

    def _url(self, job: Job, number: int) -> str:
        return f"{self.origin}/images/{job.id}/{number}.png"

    async def _init_image(self, request: Request) -> Response:
        body = await request.json()
        refused = self._refused(request)
        if refused or body.get("extension") not in ("png", "jpg", "jpeg", "webp"):
            return refused or problem("invalid file extension", 400)
        upload = str(uuid.uuid4())
        self.uploads[upload] = None
        place = {"id": upload, "fields": json.dumps({"key": upload}), "url": f"{self.origin}/upload/{upload}"}
        return JSONResponse({"uploadInitImage": place | {"key": f"users/{upload}"}})

    async def _upload(self, request: Request) -> Response:
        """S3: a form with the given fields and the file; refuses a request that has other credentials."""
        fault = await self.faults.answer(request, "upload")
        if fault or "authorization" in request.headers:
            return fault or Response("AccessDenied", 403)
        head = b"Content-Type: " + request.headers["content-type"].encode() + b"\r\n\r\n"
        parts: Any = BytesParser().parsebytes(head + await request.body()).get_payload()
        fields = {part.get_param("name", header="content-disposition"): part for part in parts}
        if fields["key"].get_payload().strip() != request.path_params["id"]:
            return Response("AccessDenied", 403)
        self.uploads[request.path_params["id"]] = fields["file"].get_payload(decode=True)
        return Response(status_code=204)

    async def _image(self, request: Request) -> Response:
        fault = await self.faults.answer(request, "output")
        job = self.jobs.get(request.path_params["id"])
        if fault or job is None or "lost-output" in job.prompt:
            return fault or Response("gone", 404)
        return Response(picture(job.id, request.path_params["number"]), media_type="image/png")
