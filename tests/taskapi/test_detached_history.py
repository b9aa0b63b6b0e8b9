"""A partition of the history is taken out and put back with the commands of docs/history.md, while tasks go on."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2

from tests.docs.documents import ROOT, find_blocks
from tests.support.clients import restore, run_client
from tests.support.following import read_all
from tests.support.observer import Observer
from tests.taskapi.fake_worker import FakeWorker

BLOCKS = {block.mark: block.text for block in find_blocks(ROOT / "docs" / "history.md")}
# Where the documents name a month, all tasks of this test are in the first partition.
BOUND = (
    "SELECT substring(pg_get_expr(relpartbound, oid) FROM 'TO \\((.*)\\)') AS bound FROM pg_class "
    "WHERE relname = 'events_before'"
)


def of_first_partition(text: str, bound: str) -> str:
    text = text.replace("callboard.first_id('2027-03-01 UTC')", "'tq_'").replace(
        "callboard.first_id('2027-04-01 UTC')", bound
    )
    return text.replace("2027_03", "before")


def test_a_month_is_detached_and_its_tasks_have_no_history_until_it_is_back(
    client: httpx2.Client,
    submit: Callable[..., dict[str, Any]],
    fake_worker: FakeWorker,
    connection: Observer,
    database_url: str,
    tmp_path: Path,
) -> None:
    completed, dead = submit(), submit()
    claimed = fake_worker.start()
    fake_worker.emit(claimed, "one", "two")
    fake_worker.complete(claimed, {"answer": 42})
    fake_worker.fail(fake_worker.start())
    links = [client.get(task["links"]["self"]).json()["links"] for task in (completed, dead)]
    bound = connection.fetch_one(BOUND)["bound"]
    before = {name: client.get(links[0][name]).json()["items"] for name in ("events", "attempts")}
    assert [len(each) for each in before.values()] == [5, 1]

    run_client("psql", database_url, "-X", "-v", "ON_ERROR_STOP=1", stdin=of_first_partition(BLOCKS["detach"], bound))
    for each in links:
        assert client.get(each["events"]).json() == {"items": [], "next_cursor": None}
        assert client.get(each["attempts"]).json() == {"items": [], "next_cursor": None}
    task = client.get(links[0]["self"]).json()
    assert (task["status"], task["result"], task["error_history"]) == ("completed", {"answer": 42}, [])
    assert [item["task_id"] for item in client.get("/api/v1/tasks").json()["items"]] == [
        dead["task_id"],
        completed["task_id"],
    ]
    for query in ("", "?after=0", "?after=2"):
        *_, done = read_all(client, f"{links[0]['stream']}{query}")
        assert (done.event, done.id, done.data["result"]) == ("done", "5", {"answer": 42})

    # New tasks, and old ones that run again.
    assert client.post(f"/api/v1/tasks/{dead['task_id']}/retry").status_code == 200
    again = fake_worker.start()
    fake_worker.emit(again, "three")
    fake_worker.complete(again)
    another = submit()
    assert [event["n"] for event in client.get(links[1]["events"]).json()["items"]] == [4, 5, 6, 7]
    assert [frame.event for frame in read_all(client, f"{links[1]['stream']}?after=0")] == [
        "status", "status", "token", "status", "done",
    ]  # fmt: skip
    assert len(client.get(another["links"]["events"]).json()["items"]) == 1
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []

    file = tmp_path / "history.dump"
    dump, drop = BLOCKS["dump"].replace("\\\n", "").strip().splitlines()
    arguments = [each.replace("2027_03", "before") for each in re.findall(r"--[\w-]+=\S+", dump)]
    run_client("pg_dump", database_url, *[re.sub(r"^--file=.*", f"--file={file}", each) for each in arguments])
    [statement] = re.findall(r'-c "(.*)"', drop)
    connection.execute(statement.replace("2027_03", "before").encode())
    restore(database_url, file)
    notices: list[str] = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
    connection.execute("SET client_min_messages = debug1")
    for each in of_first_partition(BLOCKS["attach"], bound).split(";\n"):
        if each.strip():
            connection.execute(each.encode())
    assert sum("implied by existing constraints" in each for each in notices) >= 2, notices
    assert {name: client.get(links[0][name]).json()["items"] for name in before} == before
    assert [event["n"] for event in client.get(links[1]["events"]).json()["items"]] == list(range(1, 8))
    assert [attempt["outcome"] for attempt in client.get(links[1]["attempts"]).json()["items"]] == [
        "failed",
        "completed",
    ]
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []


def test_the_bounds_of_a_month_are_constants(connection: Observer) -> None:
    """As written in the document, for a month that has its own partition."""
    connection.execute("CREATE TABLE callboard.events_2027_03 (LIKE callboard.events INCLUDING ALL)")
    connection.execute("CREATE TABLE callboard.attempts_2027_03 (LIKE callboard.attempts INCLUDING ALL)")
    notices: list[str] = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
    connection.execute("SET client_min_messages = debug1")
    for text in (BLOCKS["attach"], BLOCKS["detach"]):
        for each in text.split(";\n"):
            if each.strip():
                connection.execute(each.encode())
    implied = [each for each in notices if "implied by existing constraints" in each]
    assert any('"events_2027_03"' in each for each in implied), notices
    assert any('"attempts_2027_03"' in each for each in implied), notices
