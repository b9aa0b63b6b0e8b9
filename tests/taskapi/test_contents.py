"""Contents over HTTP: media types, caching, ranges."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from state.settings import get_settings
from state.tasks.ids import new_content_id, new_generation_id, new_task_id
from tests.support.observer import Observer
from tests.taskapi.problems import expect_problem

Store = Callable[..., str]
DATA = bytes(range(256)) * 1000


@pytest.fixture
def store(connection: Observer, client: httpx2.Client) -> Store:
    """Stores bytes as actors do, and returns their path."""

    def store(data: bytes, media_type: str = "image/png") -> str:
        digest = hashlib.sha256(data).hexdigest()
        file = Path(get_settings().data_dir) / "contents" / digest[:2] / digest
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        content_id, generation_id = new_content_id(), new_generation_id()
        task_id = client.post("/api/v1/tasks", json={"actor": "anything", "payload": {}}).json()["task_id"]
        connection.execute(
            "INSERT INTO callboard.generations (id, task_id, provider, action_type, status, request, created_at, "
            "updated_at) VALUES (%s, %s, 'local', 'txt2img', 'completed', '{}', now(), now())",
            [generation_id, task_id],
        )
        connection.execute(
            "INSERT INTO callboard.contents (id, generation_id, position, sha256, size, media_type, created_at) "
            "VALUES (%s, %s, 0, %s, %s, %s, now())",
            [content_id, generation_id, digest, len(data), media_type],
        )
        return f"/api/v1/contents/{content_id}"

    return store


def test_the_whole_content(client: httpx2.Client, store: Store) -> None:
    path = store(DATA)
    answer = client.get(path)
    assert (answer.status_code, answer.content) == (200, DATA)
    headers = answer.headers
    assert headers["content-type"] == "image/png"
    assert headers["content-length"] == str(len(DATA))
    assert headers["etag"] == f'"{hashlib.sha256(DATA).hexdigest()}"'
    assert "immutable" in headers["cache-control"]
    assert headers["accept-ranges"] == "bytes"
    assert headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in headers["content-security-policy"]
    assert headers["content-disposition"] == f'inline; filename="{path.rpartition("/")[2]}.png"'
    head = client.head(f"{path}/")
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(DATA)))
    assert client.get(store(b"")).content == b""


def test_bytes_that_the_client_has_are_not_sent_again(client: httpx2.Client, store: Store) -> None:
    path = store(DATA)
    etag = client.get(path).headers["etag"]
    for known in (etag, f'"other", {etag}', f"W/{etag}", "*"):
        answer = client.get(path, headers={"If-None-Match": known})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", etag)
    assert client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_ranges(client: httpx2.Client, store: Store) -> None:
    path, size = store(DATA), len(DATA)
    ranges = {
        "bytes=0-0": (0, 0), "bytes=10-19": (10, 19), "bytes=255990-": (255_990, size - 1),
        "bytes=-10": (size - 10, size - 1), "bytes=-999999999": (0, size - 1), "bytes=5-999999999": (5, size - 1),
    }  # fmt: skip
    for asked, (first, last) in ranges.items():
        answer = client.get(path, headers={"Range": asked})
        assert (answer.status_code, answer.content) == (206, DATA[first : last + 1]), asked
        assert answer.headers["content-range"] == f"bytes {first}-{last}/{size}"
        assert client.head(path, headers={"Range": asked}).headers["content-length"] == str(last - first + 1)
    for asked in ("bytes=256000-", "bytes=-0", "bytes=999999999-999999999"):
        answer = client.get(path, headers={"Range": asked})
        expect_problem(answer, 416, "range-not-satisfiable")
        assert answer.headers["content-range"] == f"bytes */{size}"
    for asked in ("bytes=9-5", "bytes=x-", "bytes=-", "lines=1-2", "bytes=0-1,5-6", "bytes=" + "9" * 40 + "-"):
        assert client.get(path, headers={"Range": asked}).status_code == 200, asked


def test_if_range_with_another_etag_gets_the_whole_content(client: httpx2.Client, store: Store) -> None:
    path = store(DATA)
    etag = client.get(path).headers["etag"]
    assert client.get(path, headers={"Range": "bytes=0-9", "If-Range": etag}).status_code == 206
    assert client.get(path, headers={"Range": "bytes=0-9", "If-Range": '"other"'}).status_code == 200


def test_missing_contents(client: httpx2.Client, store: Store) -> None:
    for content_id in ("nonsense", "gc_..", "gc_" + "0" * 31, new_task_id(), "%00"):
        expect_problem(client.get(f"/api/v1/contents/{content_id}"), 404, "content-not-found")
    expect_problem(client.get(f"/api/v1/contents/{new_content_id()}"), 404, "content-not-found")
    path = store(DATA)
    for file in (Path(get_settings().data_dir) / "contents").rglob("*"):
        if file.is_file():
            file.unlink()
    expect_problem(client.get(path), 404, "content-bytes-missing")
