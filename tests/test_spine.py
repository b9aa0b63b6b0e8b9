"""The bug that it was born from: the page is closed in the middle of a generation. Nothing may be lost."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.cli.board import Board

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    running = Board(tmp_path_factory.mktemp("spine"))
    try:
        yield running.ready()
    finally:
        running.destroy()


@pytest.fixture
def client(board: Board) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=board.announcement["url"], timeout=60) as opened:
        yield opened


def sse(client: httpx2.Client, path: str, last: str | None = None) -> Iterator[dict[str, str]]:
    """The events of a stream, as a browser reads them."""
    headers = {"Last-Event-ID": last} if last else {}
    with client.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200
        event: dict[str, str] = {}
        for line in answer.iter_lines():
            if not line and "data" in event:
                yield event
                event = {}
            elif line and not line.startswith(":"):
                name, _, value = line.partition(":")
                event[name] = value.strip()


def test_a_closed_page_loses_nothing(client: httpx2.Client) -> None:
    payload = {"prompt": "a lighthouse in the fog", "params": {"steps": 20, "step_seconds": 0.1}}
    accepted = client.post("/api/v1/tasks", json={"actor": "media_generation", "payload": payload})
    assert accepted.status_code == 202
    path = accepted.headers["Location"]

    seen, progress = [], 0
    for event in sse(client, f"{path}/stream"):
        seen.append(event)
        progress += event["event"] == "progress"
        if progress == 2:
            break  # the page is closed here
    assert seen[0]["event"] == "snapshot"

    later = list(sse(client, f"{path}/stream", last=seen[-1]["id"]))
    assert later[-1]["event"] == "done"
    numbers = [int(event["id"]) for event in later[:-1]]
    assert numbers == list(range(int(seen[-1]["id"]) + 1, numbers[-1] + 1))  # every one of them, once
    done = json.loads(later[-1]["data"])
    assert (done["status"], done["attempt"]) == ("completed", 1)
    again = client.get(f"{path}/stream", headers={"Last-Event-ID": later[-1]["id"]})
    assert again.status_code == 204

    [url] = done["result"]["urls"]
    content = client.get(url)
    assert content.headers["Content-Type"] == "image/png"
    assert content.content.startswith(b"\x89PNG")


def test_the_commands_of_readme(board: Board) -> None:
    _, program, block, *_ = (ROOT / "README.md").read_text().split("```")[1::2]
    submit, stream, watch = (line.split("   ")[0].strip() for line in block.strip().splitlines())
    address = board.announcement["url"].removeprefix("http://")

    def run(line: str, **words: str) -> str:
        for word, value in {
            "localhost:8000": address,
            ".venv/bin/callboard": f"{sys.prefix}/bin/callboard",
            **words,
        }.items():
            line = line.replace(word, value)
        environment = {name: str(value) for name, value in board.environment.items() if value is not None}
        ran = subprocess.run(
            shlex.split(line), capture_output=True, text=True, timeout=60, env={"PATH": "/usr/bin:/bin", **environment}
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    printed = run(f"{sys.executable} -c {shlex.quote(program.removeprefix('python'))}")
    assert "progress Step " in printed
    assert "/api/v1/contents/gc_" in printed.splitlines()[-1]
    task = json.loads(run(submit))
    assert re.fullmatch("tq_[0-9a-f]{32}", task["task_id"])
    assert "event: done" in run(stream, **{"<task_id>": task["task_id"]})
    assert "completed" in run(watch, **{"<task_id>": task["task_id"]}).lower()
