"""People at a server: they submit, look, stop, revive and follow, and write down every answer that a healthy server
does not give."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from typing import Any

import httpx2

from tests.support.following import Frame, read_all

LINES = 5  # of each task
_MOST_QUEUED = 20


class Traffic:
    def __init__(self, url: str, name: str) -> None:
        self._name = name
        self._thread = threading.Thread(target=self._run, name=f"traffic {name}", daemon=True)
        self._client = httpx2.Client(base_url=url, timeout=30, trust_env=False)
        self._over = threading.Event()
        self._followers = ThreadPoolExecutor(8)
        self.kinds: dict[str, str] = {}  # by task id: completes, canceled, paused or dies
        self.streams: dict[str, Future[list[Frame]]] = {}
        self.answers: Counter[tuple[str, int]] = Counter()
        self.bad: list[str] = []

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        for number in count():
            if self._over.is_set():
                return
            try:
                self._turn(number)
            except Exception as wrong:
                self.bad.append(f"turn {number}: {wrong!r}")
                return

    def _turn(self, number: int) -> None:
        names = f"{self._name}-{number}"
        verbs: tuple[Callable[[str, int], None], ...] = (
            self._complete, self._look, self._repeat, self._stop, self._die, self._revive, self._gate,
        )  # fmt: skip
        if self.ask("GET", "/queues/status").json()["queues"]["primary"] < _MOST_QUEUED:
            verbs[number % len(verbs)](names, number)
        self.resume_paused()
        self._over.wait(0.02)

    def ask(self, method: str, path: str, **options: Any) -> httpx2.Response:
        where = path if path.startswith(("/readyz", "/health")) else f"/api/v1{path}"
        answer = self._client.request(method, where, **options)
        self.answers[method, answer.status_code] += 1
        if answer.status_code >= 500:
            self.bad.append(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer

    def submit(self, kind: str, actor: str = "says", payload: dict[str, Any] | None = None, **options: Any) -> str:
        headers = options.pop("headers", {})
        body = {"actor": actor, "payload": {"count": LINES, **(payload or {})}, **options}
        answer = self.ask("POST", "/tasks", json=body, headers=headers)
        assert answer.status_code in (200, 202), answer.text
        task_id: str = answer.json()["task_id"]
        self.kinds[task_id] = kind
        return task_id

    def follow(self, task_id: str) -> None:
        """From the first line of its history to `done`."""
        path = f"/api/v1/tasks/{task_id}/stream?after=0"
        self.streams[task_id] = self._followers.submit(read_all, self._client, path)

    def _complete(self, name: str, number: int) -> None:
        self.follow(self.submit("completes", payload={"gates": {"provider:upgrade": 2}}, tenant="acme"))
        self.submit("completes", "says_async", target=f"target-{number % 3}")
        self.submit("completes", delay_seconds=0.01, priority=number % 4)

    def _look(self, name: str, number: int) -> None:
        for task_id in list(self.kinds)[-3:]:
            for path in ("", "/attempts", "/events"):
                assert self.ask("GET", f"/tasks/{task_id}{path}").status_code == 200
        for path in ("/tasks", "/tasks?status=running", "/tasks?status=waiting", "/queues/dlq", "/workers", "/gates",
                     "/targets/target-1", "/health", "/readyz"):  # fmt: skip
            assert self.ask("GET", path).status_code == 200, path
        self.ask("POST", "/tasks/requeue-orphaned")

    def _repeat(self, name: str, number: int) -> None:
        """The same request twice, by key and by dedup key, is one task."""
        key = {"Idempotency-Key": name}
        assert self.submit("completes", headers=key) == self.submit("completes", headers=key)
        held: dict[str, Any] = {"dedup_key": name, "payload": {"seconds": 0.1}}
        first, second = self.submit("completes", **held), self.submit("completes", **held)
        assert first == second or self.ask("GET", f"/tasks/{first}").json()["status"] == "completed"

    def _stop(self, name: str, number: int) -> None:
        canceled = self.submit("canceled", payload={"count": 1000})
        paused = self.submit("paused", payload={"count": 20})
        assert self.ask("POST", f"/tasks/{canceled}/cancel", json={}).status_code in (200, 202)
        assert self.ask("POST", f"/tasks/{paused}/pause").status_code in (200, 202, 409)
        self.follow(canceled)

    def resume_paused(self) -> None:
        for task in self.ask("GET", "/tasks?status=paused").json()["items"]:
            self.ask("POST", f"/tasks/{task['task_id']}/resume")

    def _die(self, name: str, number: int) -> None:
        for _ in range(2):
            self.submit("dies", "dies")

    def _revive(self, name: str, number: int) -> None:
        dead = self.ask("GET", "/queues/dlq").json()["items"]
        for task, verb in zip(dead, ("retry", "dismiss", "resume"), strict=False):
            self.ask("POST", f"/tasks/{task['task_id']}/{verb}", **({"json": {}} if verb == "retry" else {}))
        for verb in ("redrive", "dismiss"):  # what is revived dies again, and is dismissed by a later turn
            self.ask(
                "POST",
                f"/queues/dlq/{verb}",
                json={"actor": "dies", "dry_run": (number % 2 == 0) == (verb == "redrive")},
            )
        # None that a stream is about to follow, here or in the other traffic.
        for task in self.ask("GET", "/tasks?status=canceled&actor=dies").json()["items"][:1]:
            self.ask("DELETE", f"/tasks/{task['task_id']}")

    def _gate(self, name: str, number: int) -> None:
        self.ask("PUT", "/gates/provider:upgrade", json={"max_concurrent": 2 + number % 2})
        self.ask("PUT", f"/gates/tenant:{name}", json={"paused": True})
        for verb in ("pause", "resume"):
            assert self.ask("POST", f"/queues/journal/{verb}").status_code == 200

    def stop(self) -> None:
        self._over.set()
        self._thread.join(60)
        assert not self._thread.is_alive()

    def close(self) -> None:
        """Waits for no stream: one that does not end goes with its server."""
        self._over.set()
        self._followers.shutdown(wait=False, cancel_futures=True)
        self._client.close()
