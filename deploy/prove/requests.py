"""Submits tasks over HTTP, as a careful client does: again with the same Idempotency-Key, at any server, until one
answers."""

import random
import secrets
import time
from collections.abc import Sequence
from typing import Any

import httpx2

_PATIENCE = 90.0
_PAUSE = 0.2
_AGAIN = frozenset({409, 429, 502, 503, 504})  # 409: the first try is still under way


class NotAccepted(Exception):
    """No server has answered: whether the task exists is not known."""


class Requests:
    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = ports
        self.failures: list[str] = []  # answers that no fault explains
        self._client = httpx2.Client(timeout=20, trust_env=False)

    def submit(self, body: dict[str, Any]) -> str:
        """Returns the id of the task."""
        headers = {"Idempotency-Key": secrets.token_hex(12)}
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            port = random.choice(self._ports)  # noqa: S311
            try:
                answer = self._client.post(f"http://127.0.0.1:{port}/api/v1/tasks", json=body, headers=headers)
            except httpx2.HTTPError:
                time.sleep(_PAUSE)
                continue
            if not answer.is_success:
                if answer.is_client_error and answer.status_code not in _AGAIN:
                    raise AssertionError(f"{answer.status_code}: {answer.text}")
                if answer.status_code not in _AGAIN:
                    self.failures.append(f"{answer.status_code}: {answer.text}")
                time.sleep(_PAUSE)
                continue
            task: str = answer.json()["task_id"]
            return task
        raise NotAccepted("no server has answered")

    def close(self) -> None:
        self._client.close()
