"""Follows a log file and picks out its warnings and errors. Similar messages are shown once in a while."""

import json
import os
import re
import time
from pathlib import Path
from typing import Any

from deploy.cli.output import sanitize
from state.disk import make_private

_SHOWN_LEVELS = {"warning", "error", "critical"}
_REPEAT_SECONDS = 15.0  # until a similar message is shown again
_MAX_LENGTH = 300
# Dramatiq: [time] [PID 1] [MainThread] [dramatiq.X] [ERROR] text; uvicorn: ERROR:    text
_LEVEL = re.compile(r"^(?:\[.*?\] )*\[?(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)(?:\]|:) *(?P<text>.*)$")
_NOT_SHOWN = ('"level": "info"', '"level": "debug"')  # most of a log: skipped without parsing
_HIDDEN_KEYS = {"level", "timestamp", "event", "exception", "worker", "epoch"}

Message = tuple[str, str]
"""level, text"""


class LogTail:
    def __init__(self, log: Path) -> None:
        self._log = log
        self._position = log.stat().st_size if log.exists() else 0
        self._shown: dict[str, float] = {}
        self._in_traceback = False

    def read_new(self) -> list[Message]:
        """Returns the warnings and errors that were written since the last call."""
        try:
            with self._log.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(self._position if self._position <= size else 0)  # the file may have been emptied
                data = file.read()
                self._position = file.tell() - len(data)
        except FileNotFoundError:
            return []
        complete = data[: data.rfind(b"\n") + 1]
        self._position += len(complete)
        found = (self._classify(line) for line in complete.decode("utf-8", "replace").splitlines())
        return [message for message in found if message is not None and self._is_new(message)]

    def _classify(self, line: str) -> Message | None:
        if any(mark in line for mark in _NOT_SHOWN):
            return None
        if line.startswith("Traceback "):
            self._in_traceback = True
            return None
        level, text = _parse(line)
        if self._in_traceback and not level:  # a line with a level comes from another process
            self._in_traceback = not line or line[0].isspace()
            return None if self._in_traceback else ("error", sanitize(line, _MAX_LENGTH))
        return (level, sanitize(text, _MAX_LENGTH)) if level in _SHOWN_LEVELS else None

    def _is_new(self, message: Message) -> bool:
        # Messages that differ only in numbers and ids are similar.
        kind = re.sub(r"[0-9a-f]*[0-9][0-9a-f]*", "", message[1])
        now = time.monotonic()
        self._shown = {each: at for each, at in self._shown.items() if now - at < _REPEAT_SECONDS}
        if kind in self._shown:
            return False
        self._shown[kind] = now
        return True


def _parse(line: str) -> Message:
    if line.startswith("{"):
        try:
            entry: dict[str, Any] = json.loads(line)
        except ValueError:
            return "", line
        details = [f"{key} {value}" for key, value in entry.items() if key not in _HIDDEN_KEYS]
        details += str(entry.get("exception", "")).splitlines()[-1:]  # the last line of a traceback names the error
        return str(entry.get("level", "")), ": ".join(filter(None, [str(entry.get("event", "")), ", ".join(details)]))
    match = _LEVEL.match(line)
    return (match["level"].lower(), match["text"]) if match else ("", line)


def rotate(log: Path) -> Path:
    """Creates an empty log, and keeps the log of the run before as `.log.1`. Other users cannot read them."""
    make_private(log.parent.parent)
    make_private(log.parent)
    if log.exists():
        log.replace(before := log.with_suffix(".log.1"))
        before.chmod(0o640)
    log.touch(mode=0o640)
    return log
