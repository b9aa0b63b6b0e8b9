"""`CALLBOARD_DEMO_PROVIDERS=1 callboard up`: remote providers without a key."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.cli.board import Board
from tests.support.eventually import eventually


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    running = Board(tmp_path / "demo", CALLBOARD_DEMO_PROVIDERS=1)
    try:
        yield running.ready()
    finally:
        running.destroy()


def test_the_demo_leonardo_generates_an_image(board: Board) -> None:
    with httpx2.Client(base_url=board.announcement["url"] + "/api/v1", timeout=30) as client:
        available = {each["name"]: each["available"] for each in client.get("/providers").json()["items"]}
        assert available["leonardo"]
        assert available["midjourney"]
        payload = {"provider": "leonardo", "prompt": "a red fox"}
        accepted = client.post("/tasks", json={"actor": "media_generation", "payload": payload})
        task_id = accepted.json()["task_id"]
        done = eventually(lambda: (task := client.get(f"/tasks/{task_id}").json())["finished_at"] and task, 60)
        assert done["status"] == "completed", done["error"]
        content = client.get(f"/contents/{done['result']['content_ids'][0]}")
        assert content.headers["Content-Type"].startswith("image/")
