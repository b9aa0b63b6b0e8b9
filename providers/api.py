"""A JSON API over HTTP: sends requests and raises every failure as a ProviderError."""

import contextlib
import functools
import json
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2

from providers.errors import (
    NetworkTimeout,
    ServerError,
    make_error_from_exception,
    make_error_from_response,
)

MAX_ANSWER = 32 * 1024 * 1024


@functools.cache
def get_ssl_context() -> ssl.SSLContext:
    """Returns the context of this process. Loading the certificates takes longer than most requests."""
    return httpx2.create_ssl_context()


class Api:
    """Opens a new connection for each request. If a submission fails on a stale connection, it is not known whether
    the service has accepted it."""

    def __init__(
        self, service: str, base_url: str, headers: Mapping[str, str] | None = None, timeout: float = 30.0
    ) -> None:
        self.service = service
        self.timeout = timeout
        self._base_url = base_url.rstrip("/")
        self._headers = dict(headers or {})

    async def get(self, path: str) -> Any:
        return await self.request("GET", path)

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        return await self.request("POST", path, json=body)

    async def request(self, method: str, path: str, **content: Any) -> Any:
        """Returns the parsed body, None if it is empty."""
        async with self.stream(method, path, **content) as response:
            body = await self.read(response)
        if not body.strip():
            return None
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            details = {"service": self.service, "path": path}
            raise ServerError(f"{self.service} sent malformed JSON", details=details) from error

    @contextlib.asynccontextmanager
    async def stream(self, method: str, path: str, **content: Any) -> AsyncIterator[httpx2.Response]:
        """Yields a response to read in pieces. Failures while it is read are raised as ProviderError too."""
        url = path if "://" in path else self._base_url + path
        try:
            async with (
                httpx2.AsyncClient(verify=get_ssl_context(), timeout=self.timeout) as client,
                client.stream(method, url, headers=self._headers, **content) as response,
            ):
                if not response.is_success:
                    raise await make_error_from_response(response, self.service)
                yield response
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise make_error_from_exception(error, self.service) from error

    async def read(self, response: httpx2.Response) -> bytes:
        """Returns the whole body. The timeout holds for all of it, whereas httpx2 applies it to each read."""
        end = time.monotonic() + self.timeout
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_ANSWER:
                raise ServerError(f"{self.service} sent more than {MAX_ANSWER} bytes")
            if time.monotonic() > end:
                raise NetworkTimeout(f"{self.service} did not finish its answer in {self.timeout:g} s")
        return bytes(body)
