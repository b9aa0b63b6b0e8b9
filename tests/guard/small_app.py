"""A small application behind the real middleware. It notes the requests that pass."""

from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Message, Scope

from state.database.errors import DatabaseUnavailable
from taskapi.api.bodies import read_raw_body
from taskapi.api.problems import Problem, handle_failure
from taskapi.app import MIDDLEWARE

LONG = {"text": "a long text " * 200}


class Access:
    """Stands for the keys of the database."""

    def __init__(self, *, keyed: bool) -> None:
        self.keyed = keyed
        self.asked = 0

    async def serves_strangers(self) -> bool:
        self.asked += 1
        return self.keyed


class SmallApp:
    def __init__(self, *, keyed: bool = False) -> None:
        self.passed: list[str] = []
        everything = ["GET", "POST", "PUT", "PATCH", "DELETE"]
        self.app = Starlette(
            routes=[
                Route("/", self._show_page),
                Route("/api/v1/tasks", self._answer, methods=everything),
                Route("/livez", self._answer),
                Route("/long", self._answer_long),
                Route("/frames", self._stream),
                Route("/content", self._send_content),
                Route("/broken", self._break),
            ],
            middleware=MIDDLEWARE,
            exception_handlers=dict.fromkeys((HTTPException, Problem, DatabaseUnavailable), handle_failure),
        )
        self.app.state.access = self.access = Access(keyed=keyed)

    def connect(self, base_url: str = "http://127.0.0.1", client: str = "127.0.0.1") -> TestClient:
        return TestClient(self.app, base_url, raise_server_exceptions=False, client=(client, 50_000))

    async def _show_page(self, request: Request) -> Response:
        self._note(request)
        return HTMLResponse("<p>Callboard</p>", headers={"Content-Security-Policy": "default-src 'none'; sandbox"})

    async def _answer(self, request: Request) -> Response:
        body = await read_raw_body(request)
        self._note(request)
        return JSONResponse({"body": body.decode()})

    async def _answer_long(self, request: Request) -> Response:
        self._note(request)
        return JSONResponse(LONG, int(request.query_params.get("status", "200")))

    async def _stream(self, request: Request) -> Response:
        self._note(request)

        async def send_frames() -> AsyncIterator[bytes]:
            yield b"data: " + b"x" * 5000 + b"\n\n"

        return StreamingResponse(send_frames(), media_type="text/event-stream")

    async def _send_content(self, request: Request) -> Response:
        self._note(request)
        headers = {"ETag": '"abc"', "Accept-Ranges": "bytes", "X-Content-Type-Options": "nosniff"}
        return Response("text " * 1000, headers=headers, media_type="text/plain")

    async def _break(self, request: Request) -> Response:
        self._note(request)
        raise RuntimeError("the password is swordfish")

    def _note(self, request: Request) -> None:
        self.passed.append(f"{request.method} {request.url.path}")


async def send_to(app: ASGIApp, scope: Scope) -> list[Message]:
    """Sends a request without a body to a middleware. Returns what it sends."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await app({"type": "http", "method": "GET", "path": "/", "scheme": "http", **scope}, receive, send)
    return sent
