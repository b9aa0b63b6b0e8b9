"""midjourney-proxy's API, after the docs and controllers of novicezk/midjourney-proxy; `can_cancel` adds the
route of trueai-org's."""

import time
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.providers.servers.faults import Faults
from tests.providers.servers.jobs import Job, Jobs, picture
from tests.providers.servers.running import RunningServer

SECRET = "an-mj-secret"
ACTIONS = ("UPSCALE", "VARIATION", "REROLL")


def answer(code: int, description: str, result: str | None = None, **properties: object) -> JSONResponse:
    body = {"code": code, "description": description, "properties": properties, "result": result}
    return JSONResponse(body)


class MidjourneyServer(RunningServer):
    def __init__(self, port: int = 0, seconds: float = 0.0, can_cancel: bool = False) -> None:
        self._seconds = seconds
        self.reset()
        routes = [
            Route("/mj/submit/imagine", self._imagine, methods=["POST"]),
            Route("/mj/submit/change", self._change, methods=["POST"]),
            Route("/mj/submit/describe", self._describe, methods=["POST"]),
            Route("/mj/task/list", self._list),
            Route("/mj/task/{id}/fetch", self._fetch),
            Route("/attachments/{id}.png", self._image),
        ]
        if can_cancel:
            routes.append(Route("/mj/task/{id}/cancel", self._cancel, methods=["POST"]))
        super().__init__(Starlette(routes=routes), port)
        self.base_url = f"{self.origin}/mj"

    def reset(self) -> None:
        self.jobs = Jobs(seconds=self._seconds)
        self.faults = Faults()
        self.next_code: int | None = None

    def _refused(self, request: Request) -> Response | None:
        return None if request.headers.get("mj-api-secret") == SECRET else Response(status_code=403)

    async def _accept(self, request: Request) -> tuple[Response | None, dict[str, Any]]:
        body = await request.json()
        refused = self._refused(request) or await self.faults.answer(request, "submit", body.get("prompt", ""))
        if not refused and self.next_code is not None:
            refused, self.next_code = answer(self.next_code, "as the test wants it"), None
        return refused, body

    def _started(self, kind: str, body: dict[str, Any]) -> Response:
        queued = self.jobs.running
        job = self.jobs.start(kind, body)
        if queued:
            return answer(22, f"in the queue, {queued} before it", job.id, numberOfQueues=queued)
        return answer(1, "submitted", job.id)

    async def _imagine(self, request: Request) -> Response:
        refused, body = await self._accept(request)
        if refused:
            return refused
        if not body.get("prompt", "").strip():
            return answer(4, "the prompt must not be empty")
        if "naked" in body["prompt"]:
            return answer(24, "may contain sensitive words", promptEn=body["prompt"], bannedWord="naked")
        if any(not image.startswith("data:image/") for image in body.get("base64Array", [])):
            return answer(4, "base64 is malformed")
        return self._started("IMAGINE", body)

    async def _change(self, request: Request) -> Response:
        refused, body = await self._accept(request)
        if refused:
            return refused
        target = self.jobs.get(body.get("taskId", ""))
        if body.get("action") not in ACTIONS:
            return answer(4, "action is wrong")
        if target is None:
            return answer(3, "the related task does not exist or has expired")
        if not target.is_done:
            return answer(4, "the related task is in the wrong status")
        wanted = (body["action"], body.get("index"), body["taskId"])
        for job in self.jobs.all():
            if (job.kind, job.request.get("index"), job.request.get("taskId")) == wanted and wanted[0] == "UPSCALE":
                return answer(21, "the task exists", job.id, status="SUCCESS")
        return self._started(body["action"], body)

    async def _describe(self, request: Request) -> Response:
        refused, body = await self._accept(request)
        if refused or not body.get("base64", "").startswith("data:image/"):
            return refused or answer(4, "base64 is malformed")
        return self._started("DESCRIBE", body)

    async def _fetch(self, request: Request) -> Response:
        refused = self._refused(request) or await self.faults.answer(request, "poll")
        if refused:
            return refused
        job = self.jobs.poll(request.path_params["id"])
        return JSONResponse(self._task(job)) if job else Response("", media_type="application/json")

    async def _list(self, request: Request) -> Response:
        refused = self._refused(request)
        return refused or JSONResponse([self._task(job) for job in reversed(self.jobs.all())])

    async def _cancel(self, request: Request) -> Response:
        fault = await self.faults.answer(request, "cancel")
        if fault:
            return fault
        job = self.jobs.get(request.path_params["id"])
        if job and not job.is_done:
            job.canceled = True
        return self._refused(request) or Response(status_code=200)

    def _task(self, job: Job) -> dict[str, Any]:
        failed = job.canceled or "fails" in job.prompt or "banned" in job.prompt
        status = ("FAILURE" if failed else "SUCCESS") if job.is_done else "IN_PROGRESS"
        reason = "[Banned prompt] It was banned" if "banned" in job.prompt else "the task timed out"
        succeeded = status == "SUCCESS" and "no-output" not in job.prompt
        return {
            "id": job.id,
            "action": job.kind,
            "status": status if job.polls else "SUBMITTED",
            "prompt": job.prompt,
            "description": f"/imagine {job.prompt}",
            "state": job.request.get("state"),
            "submitTime": int(time.time() * 1000),
            "progress": "100%" if status == "SUCCESS" else f"{job.percent}%",
            "imageUrl": f"{self.origin}/attachments/{job.id}.png" if succeeded else None,
            "failReason": reason if status == "FAILURE" else None,
            "properties": {"finalPrompt": "1️⃣ A cat --ar 5:4" if job.kind == "DESCRIBE" else job.prompt},
        }

    async def _image(self, request: Request) -> Response:
        fault = await self.faults.answer(request, "output")
        job = self.jobs.get(request.path_params["id"])
        if fault or job is None or "lost-output" in job.prompt:
            return fault or Response("gone", 404)
        return Response(picture(job.id, 0), media_type="image/png")
