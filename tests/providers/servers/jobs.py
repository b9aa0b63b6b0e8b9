"""Jobs of a media service: made at a submit, advanced by polls and time, counted."""

import hashlib
import io
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from PIL import Image


@dataclass
class Job:
    kind: str
    request: dict[str, Any]
    polls_needed: int
    seconds: float
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    started: float = field(default_factory=time.monotonic)
    polls: int = 0
    canceled: bool = False

    @property
    def prompt(self) -> str:
        return str(self.request.get("prompt") or "")

    @property
    def is_done(self) -> bool:
        return self.canceled or (self.polls >= self.polls_needed and time.monotonic() - self.started >= self.seconds)

    @property
    def percent(self) -> int:
        return min(99, 100 * self.polls // (self.polls_needed + 1))


class Jobs:
    """A job counts as running until a poll has shown its end."""

    def __init__(self, polls_needed: int = 2, seconds: float = 0.0) -> None:
        self.polls_needed = polls_needed
        self.seconds = seconds
        self.submissions = 0
        self.most_running = 0
        self._jobs: dict[str, Job] = {}

    def start(self, kind: str, request: dict[str, Any]) -> Job:
        job = Job(kind, request, self.polls_needed, self.seconds)
        self._jobs[job.id] = job
        self.submissions += 1
        self.most_running = max(self.most_running, self.running)
        return job

    @property
    def running(self) -> int:
        return sum(not job.is_done for job in self._jobs.values())

    def all(self) -> list[Job]:
        return list(self._jobs.values())

    def get(self, job_id: str) -> Job | None:
        return self._jobs.get(job_id)

    def poll(self, job_id: str) -> Job | None:
        """Once more asked for; a job with «expired» in its prompt is forgotten at the second time."""
        job = self._jobs.get(job_id)
        if job is None:
            return None
        job.polls += 1
        if "expired" in job.prompt and job.polls > 1:
            self.forget(job_id)
            return None
        return job

    def forget(self, job_id: str) -> None:
        self._jobs.pop(job_id, None)


def picture(job_id: str, number: int) -> bytes:
    """The same bytes for the same job, so that a test can compare what arrived."""
    digest = hashlib.sha256(f"{job_id}/{number}".encode()).digest()
    image = Image.frombytes("RGB", (2, 2), digest[:12]).resize((96, 96), Image.Resampling.BICUBIC)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()
