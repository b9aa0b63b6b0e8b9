"""Reads an export to its end, each task once, across lost connections and restarts of the server."""

import re
from collections.abc import Mapping
from typing import Any, cast

from taskclient.effects import Answer, Emit, Emitting, End, Frame, Lost, Open, Read, Request, Sleep
from taskclient.errors import ServerUnreachable, make_problem
from taskclient.programs import Call
from taskclient.retries import Backoff, is_temporary, read_retry_after

_PATH = "/api/v1/tasks/export"
_SILENCE = 120.0  # seconds; the server reads long for a page that hardly any task fits
_ID = re.compile(r'\{"task_id":"(tq_[0-9a-f]{32})"')


def export(params: Mapping[str, Any], patience: float) -> Emitting[str]:
    """Emits the lines, each the JSON of a task, with its attempts and events."""
    after = params.get("after")
    backoff = Backoff(patience)
    while True:
        answer = yield Open(_make_request(params, after), _SILENCE, lines=True)
        lost: str | None = answer.reason if isinstance(answer, Lost) else None
        while isinstance(answer, Answer) and answer.status == 200:
            match (yield Read()):
                case Frame() as line:
                    backoff.succeed()
                    after = _read_id(line.data)
                    yield Emit(line.data)
                case End():
                    return
                case Lost() as broken:
                    lost = broken.reason
                    break
        refused = cast("Answer", answer) if lost is None else None
        if refused is not None and not is_temporary(refused.status):
            raise make_problem(refused.status, refused.headers, refused.body)
        pause = backoff.next_pause(None if refused is None else read_retry_after(refused.headers))
        if pause is None:
            if refused is not None:
                raise make_problem(refused.status, refused.headers, refused.body)
            raise ServerUnreachable(f"The export broke off: {lost}.")
        yield Sleep(pause)


def _make_request(params: Mapping[str, Any], after: str | None) -> Request:
    return Call("GET", _PATH, {**params, "after": after}, headers={"Accept": "application/x-ndjson"}).to_request()


def _read_id(line: str) -> str:
    found = _ID.match(line)
    if found is None:
        raise ValueError(f"not a task: {line[:100]}")
    return found[1]
