"""Single requests to Callboard's HTTP API, for setting up; what is measured goes through the load clients."""

import http.client
import json
import time
from typing import Any

from tests.bench.harness.errors import BenchError

IDLE = 2.0  # seconds after which a connection is not used again: the server closes it after 5


class Requests:
    """One API key, over one connection as long as it is in use."""

    def __init__(self, port: int, key: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._used = time.monotonic()
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: object = None) -> Any:
        return self.timed(method, path, body)[0]

    def timed(self, method: str, path: str, body: object = None) -> tuple[Any, float]:
        """The answer, and the seconds until all of it was here."""
        answer, seconds = self.timed_bytes(method, path, body)
        return json.loads(answer), seconds

    def timed_bytes(self, method: str, path: str, body: object = None) -> tuple[bytes, float]:
        """The same for an answer that is no JSON, such as a stream that ends."""
        if time.monotonic() - self._used > IDLE:
            self._connection.close()  # the next request opens it again
        text = None if body is None else json.dumps(body)
        try:
            began = time.perf_counter()
            self._connection.request(method, path, text, self._headers)
            response = self._connection.getresponse()
            answer = response.read()
            seconds = time.perf_counter() - began
        except (http.client.HTTPException, OSError) as error:
            raise BenchError(f"{method} {path}: {error!r}") from error
        self._used = time.monotonic()
        if response.status >= 300:
            raise BenchError(f"{method} {path} was answered {response.status}: {answer[:300]!r}")
        return answer, seconds

    def submit(self, actor: str, payload: dict[str, Any], **options: Any) -> str:
        task_id: str = self.ask("POST", "/api/v1/tasks", {"actor": actor, "payload": payload, **options})["task_id"]
        return task_id
