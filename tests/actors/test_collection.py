"""Bytes without a content are removed, from a folder and from a bucket, and never while somebody stores them again."""

import hashlib
import threading
from pathlib import Path
from typing import Any

import pytest

from state.media import collection, contents
from state.media.collection import AGE, collect
from state.media.stores import ContentStore, get_store
from tests.actors.test_contentstore import s3_server, settings, store  # noqa: F401
from tests.support.clock import Clock
from tests.support.eventually import eventually
from tests.support.observer import Observer

LEFT, USED, FRESH = b"left", b"used", b"fresh"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def put(data: bytes, folder: Path) -> str:
    return contents.store_bytes(data, "text/plain", folder).sha256


def noted(connection: Observer) -> set[str]:
    return {row["sha256"] for row in connection.execute("SELECT sha256 FROM callboard.stored_bytes").fetchall()}


def make_content(connection: Observer, sha256: str) -> None:
    connection.execute(
        "INSERT INTO callboard.generations (id, task_id, provider, action_type, status, request, created_at,"
        " updated_at) VALUES ('gn_1', 'tq_1', 'local', 'txt2img', 'completed', '{}', now(), now())"
    )
    connection.execute(
        "INSERT INTO callboard.contents (id, generation_id, position, sha256, size, media_type, created_at)"
        " VALUES ('gc_1', 'gn_1', 0, %s, 4, 'text/plain', now())",
        [sha256],
    )


def test_only_old_bytes_without_a_content_are_removed(
    store: ContentStore,  # noqa: F811
    connection: Observer,
    clock: Clock,
    tmp_path: Path,
) -> None:
    for data in (LEFT, USED):
        put(data, tmp_path)
    make_content(connection, digest(USED))
    assert collect() == 0  # nothing is old
    clock.advance(AGE + 1)
    put(FRESH, tmp_path)
    assert collect() == 1
    assert [store.exists(digest(data)) for data in (LEFT, USED, FRESH)] == [False, True, True]
    assert noted(connection) == {digest(FRESH)}
    assert collect() == 0
    put(LEFT, tmp_path)
    assert store.exists(digest(LEFT))
    clock.advance(AGE - 1)
    put(LEFT, tmp_path)  # again: it is not old
    clock.advance(2)
    assert collect() == 1
    assert [store.exists(digest(data)) for data in (LEFT, FRESH)] == [True, False]


def test_what_is_stored_again_during_the_removal_is_there_afterwards(
    store: ContentStore,  # noqa: F811
    connection: Observer,
    clock: Clock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put(LEFT, tmp_path)
    clock.advance(AGE + 1)
    reached, go_on = threading.Event(), threading.Event()

    class Slow:
        def remove(self, sha256: str) -> None:
            reached.set()
            assert go_on.wait(30)
            store.remove(sha256)

    monkeypatch.setattr(collection, "get_store", Slow)
    remover = threading.Thread(target=collect)
    remover.start()
    assert reached.wait(30)
    writer = threading.Thread(target=put, args=(LEFT, tmp_path))
    writer.start()
    waits = "SELECT FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0 AND query LIKE '%stored_bytes%'"
    eventually(lambda: connection.execute(waits).fetchone() is not None, what="the writer waits for the removal")
    go_on.set()
    remover.join()
    writer.join()
    assert store.exists(digest(LEFT))
    assert noted(connection) == {digest(LEFT)}


def test_a_writer_that_was_first_a_content_that_came_late_and_a_remover_that_dies(
    store: ContentStore, connection: Observer, clock: Clock, database_url: str, tmp_path: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    put(LEFT, tmp_path)
    clock.advance(AGE + 1)
    with Observer.open(database_url) as writer, writer.transaction():
        writer.execute("UPDATE callboard.stored_bytes SET stored_at = callboard.now()")  # not committed yet
        assert collect() == 0
    assert collect() == 0
    clock.advance(AGE + 1)

    class Dying:
        def remove(self, sha256: str) -> None:
            store.remove(sha256)
            raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(collection, "get_store", Dying)
        with pytest.raises(SystemExit):
            collect()
    assert noted(connection) == {digest(LEFT)}
    assert collect() == 1
    assert (noted(connection), store.exists(digest(LEFT))) == (set(), False)

    put(LEFT, tmp_path)
    clock.advance(AGE + 1)
    fetch_one = vars(collection)["fetch_one"]

    def come_late(name: str, *args: Any) -> Any:
        """A content that appears after the bytes were found to have none."""
        if name == "bytes_are_used":
            make_content(connection, digest(LEFT))
        return fetch_one(name, *args)

    monkeypatch.setattr(collection, "fetch_one", come_late)
    collect()
    assert store.exists(digest(LEFT))


def test_nothing_is_removed_while_a_worker_of_an_old_release_lives(
    store: ContentStore,  # noqa: F811
    connection: Observer,
    clock: Clock,
    tmp_path: Path,
) -> None:
    put(LEFT, tmp_path)
    clock.advance(AGE + 1)
    connection.execute(
        "INSERT INTO callboard.workers (id, host, boot_id, pid_namespace, pid, queues, actors, threads, started_at,"
        " seen_at) VALUES ('old', 'h', 'b', 'n', 1, '{}', '{}', 1, now(), now())"
    )
    assert collect() == 0
    connection.execute("UPDATE callboard.workers SET stopped_at = now()")
    assert collect() == 1
    assert get_store().exists(digest(LEFT)) is False
