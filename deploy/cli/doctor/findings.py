"""One line of what `callboard doctor` says."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    level: Level
    subject: str
    text: str
    remedy: str | None = None


def ok(subject: str, text: str) -> Finding:
    return Finding("ok", subject, text)


def warning(subject: str, text: str, remedy: str) -> Finding:
    return Finding("warning", subject, text, remedy)


def problem(subject: str, text: str, remedy: str) -> Finding:
    return Finding("problem", subject, text, remedy)
