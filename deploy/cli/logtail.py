"""Shows what matters of a log file as it grows: warnings and errors, each kind once in a while."""

import json
import os
import re
import time
from pathlib import Path
from typing import Any

from deploy.cli.output import plain

_ALARMING = {"warning", "error", "critical"}
_AGAIN = 15.0  # seconds until the same message is shown again
# Dramatiq: [time] [PID 1] [MainThread] [dramatiq.X] [ERROR] text; uvicorn: ERROR:    text
_LEVEL = re.compile(r"^(?:\[.*?\] )*\[?(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)(?:\]|:) *(?P<text>.*)$")
_CALM = ('"level": "info"', '"level": "debug"')  # by far the most lines: no need to parse them
_NOISE = {"level", "timestamp", "event", "exception", "worker", "epoch"}


class LogTail:
    def __init__(self, log: Path) -> None:
        self._log = log
        self._position = log.stat().st_size if log.exists() else 0
        self._shown: dict[str, float] = {}
        self._in_traceback = False

    def news(self) -> list[tuple[str, str]]:
        """(level, text) of what is worth a person's attention since the last look."""
        try:
            with self._log.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(self._position if self._position <= size else 0)  # somebody may have emptied it
                data = file.read()
                self._position = file.tell() - len(data)
        except FileNotFoundError:
            return []
        complete = data[: data.rfind(b"\n") + 1]
        self._position += len(complete)
        found = (self._judge(line) for line in complete.decode("utf-8", "replace").splitlines())
        return [item for item in found if item is not None and self._is_new(item)]

    def _judge(self, line: str) -> tuple[str, str] | None:
        if any(mark in line for mark in _CALM):
            return None
        if line.startswith("Traceback "):
            self._in_traceback = True
            return None
        level, text = _parse(line)
        if self._in_traceback and not level:  # with a level it is another process's line in between
            self._in_traceback = not line or line[0].isspace()
            return None if self._in_traceback else ("error", plain(line, 300))
        return (level, plain(text, 300)) if level in _ALARMING else None

    def _is_new(self, item: tuple[str, str]) -> bool:
        # The same but for numbers and ids: a storm of one kind is one thing to know.
        kind = re.sub(r"[0-9a-f]*[0-9][0-9a-f]*", "", item[1])
        now = time.monotonic()
        self._shown = {each: at for each, at in self._shown.items() if now - at < _AGAIN}
        if kind in self._shown:
            return False
        self._shown[kind] = now
        return True


def _parse(line: str) -> tuple[str, str]:
    if line.startswith("{"):
        try:
            entry: dict[str, Any] = json.loads(line)
        except ValueError:
            return "", line
        details = [f"{key} {value}" for key, value in entry.items() if key not in _NOISE]
        details += str(entry.get("exception", "")).splitlines()[-1:]  # of a traceback, the line that names the error
        return str(entry.get("level", "")), ": ".join(filter(None, [str(entry.get("event", "")), ", ".join(details)]))
    match = _LEVEL.match(line)
    return (match["level"].lower(), match["text"]) if match else ("", line)


def rotated(log: Path) -> Path:
    """The log's own place, emptied; the log of the run before stands beside it."""
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists():
        log.replace(log.with_suffix(".log.1"))
    log.touch()
    return log
