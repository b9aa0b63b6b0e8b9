"""Both content stores do the same: files under their hash, and a bucket of anything that speaks S3."""

import hashlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from state.errors import ContentNotFound, ContentStoreFailed
from state.media.contents import scratch_folder, store_bytes, store_file
from state.media.stores import CHUNK, ContentStore, FileStore, get_store
from state.settings import SettingsError, get_settings
from tests.actors.conftest import Start
from tests.actors.s3server import ACCESS_KEY, BUCKET, S3Server
from tests.actors.test_media import submit_media
from tests.providers.servers import MidjourneyServer
from tests.support.following import read_contents, wait_until_finished

DATA = os.urandom(CHUNK + 1000)
DIGEST = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def settings(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Settings that are read anew, now and after the test."""
    monkeypatch.setenv("CALLBOARD_DATA_DIR", str(tmp_path))
    get_settings.cache_clear()
    yield monkeypatch
    get_settings.cache_clear()


def lead_to(endpoint: str, monkeypatch: pytest.MonkeyPatch, bucket: str = BUCKET) -> None:
    for name, value in {
        "CALLBOARD_CONTENTS_URL": f"s3://{bucket}/some/prefix/",
        "CALLBOARD_CONTENTS_ENDPOINT": endpoint,
        "CALLBOARD_CONTENTS_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": "secret",
    }.items():
        monkeypatch.setenv(name, value)
    get_settings.cache_clear()


@pytest.fixture
def s3_server(settings: pytest.MonkeyPatch) -> Iterator[S3Server]:
    with S3Server() as server:
        lead_to(server.origin, settings)
        yield server


@pytest.fixture(params=["files", "s3_server"])
def store(request: pytest.FixtureRequest, settings: pytest.MonkeyPatch) -> ContentStore:
    if request.param != "files":
        request.getfixturevalue(request.param)
    return get_store()


def read(store: ContentStore, *part: int) -> bytes:
    return b"".join(store.stream(DIGEST, *part))


def test_what_goes_in_comes_out_whole_or_in_parts(store: ContentStore, tmp_path: Path) -> None:
    assert not store.exists(DIGEST)
    with pytest.raises(ContentNotFound):
        store.stream(DIGEST)
    with scratch_folder("tq_1", 1) as folder:
        for _ in range(2):  # the same again changes nothing
            stored = store_bytes(DATA, "image/png", folder)
    assert (stored.sha256, stored.size, stored.media_type) == (DIGEST, len(DATA), "image/png")
    assert store.exists(DIGEST)
    assert read(store) == DATA
    assert read(store, 0, 10) == DATA[:10]
    assert read(store, CHUNK - 5, 10) == DATA[CHUNK - 5 : CHUNK + 5]
    assert read(store, len(DATA) - 3) == DATA[-3:]
    assert read(store, 5, 0) == b""
    path = store.path(DIGEST)
    if isinstance(store, FileStore):
        assert path is not None
        assert path.read_bytes() == DATA
    else:
        assert path is None
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "\n"])
def test_only_a_hash_becomes_a_name(name: str, store: ContentStore) -> None:
    with pytest.raises(ContentNotFound):
        store.stream(name)


def test_large_files_go_up_in_parts(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("state.media.s3._SINGLE_PUT", 1000)
    data = os.urandom(9 * 1024 * 1024)
    (tmp_path / "large").write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    store_file(tmp_path / "large", digest, len(data), "video/mp4")
    assert b"".join(get_store().stream(digest)) == data
    assert not s3_server.uploads
    assert s3_server.puts == 0


def test_a_bucket_keeps_types_and_hides_its_troubles(
    s3_server: S3Server, settings: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store_bytes(DATA, "image/png", tmp_path)
    assert s3_server.objects == {f"some/prefix/{DIGEST[:2]}/{DIGEST}": (DATA, "image/png")}
    assert s3_server.puts == 1
    (tmp_path / "x").write_bytes(b"other bytes")
    with pytest.raises(ContentStoreFailed, match="BadDigest"):
        get_store().put(tmp_path / "x", "1" * 64, "image/png")
    s3_server.failures = 1  # once is nothing
    assert get_store().exists(DIGEST)
    s3_server.failures = 100
    with pytest.raises(ContentStoreFailed, match="500"):
        get_store().exists(DIGEST)
    s3_server.failures = 0
    lead_to(s3_server.origin, settings, bucket="nobodys")
    with pytest.raises(ContentStoreFailed, match="NoSuchBucket"):
        get_store().put(tmp_path / "x", "1" * 64, "image/png")


def test_a_bucket_needs_boto3(settings: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("state.settings.find_spec", lambda name: None)
    lead_to("http://127.0.0.1:1", settings)
    with pytest.raises(SettingsError, match=r"CALLBOARD_CONTENTS_URL: .*callboard\[s3\]"):
        get_settings()


def test_a_generation_into_a_bucket(
    database_url: str,
    s3_server: S3Server,
    start: Start,
    trusted: None,
    midjourney_server: MidjourneyServer,
    tmp_path: Path,
) -> None:
    start()
    task = wait_until_finished(submit_media(provider="midjourney"))
    assert [data for data, _ in s3_server.objects.values()] == read_contents(task)
    assert not (tmp_path / "contents").exists()
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_folder_on_another_file_system(
    settings: pytest.MonkeyPatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise OSError(18, "Invalid cross-device link")
        return rename(self, target)

    rename = type(tmp_path).rename
    monkeypatch.setattr(type(tmp_path), "rename", refuse)
    (tmp_path / "new").write_bytes(DATA)
    get_store().put(tmp_path / "new", DIGEST, "image/png")
    folder = tmp_path / "contents" / DIGEST[:2]
    assert [each.name for each in folder.iterdir()] == [DIGEST]
    assert read(get_store()) == DATA


def test_many_at_once_publish_the_same(settings: pytest.MonkeyPatch) -> None:
    def publish(number: int) -> None:
        with scratch_folder(f"tq_{number}", 1) as folder:
            store_bytes(DATA, "image/png", folder)

    threads = [threading.Thread(target=publish, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert read(get_store()) == DATA


def test_what_a_killed_execution_left_goes_with_the_next(settings: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = ["tq_1.1", "tq_1.3", "tq_2.1", "tq_3.1"]
    for name in names:
        (tmp_path / "tmp" / name).mkdir(parents=True)
        (tmp_path / "tmp" / name / "half").write_bytes(b"half")
    long_ago = time.time() - 2 * 24 * 3600
    os.utime(tmp_path / "tmp" / "tq_3.1", (long_ago, long_ago))
    with scratch_folder("tq_1", 2):
        left = {each.name for each in (tmp_path / "tmp").iterdir()}
    assert left == {"tq_1.2", "tq_1.3", "tq_2.1"}  # not the later epoch's, not another task's
