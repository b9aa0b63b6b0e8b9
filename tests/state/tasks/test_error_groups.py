"""Dead letters in groups: which errors are the same, and what is known of a group."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from state import delete, dismiss_many, get_task, list_dead_letters, list_error_groups, redrive, retry
from state.access.caller import Caller
from state.tasks.bulk import act_on_all
from tests.support.builders import TaskBuilder
from tests.support.clock import Clock
from tests.support.observer import Observer

Kill = Callable[..., str]
Normalize = Callable[[str | None], str | None]


@pytest.fixture
def normalize(connection: Observer) -> Normalize:
    def normalize(message: str | None) -> str | None:
        normalized: str | None = connection.fetch_one("SELECT callboard.normalize_message(%s) AS it", [message])["it"]
        return normalized

    return normalize


@pytest.fixture
def kill(make_task: TaskBuilder, connection: Observer) -> Kill:
    """Makes a dead letter with this error, and returns its id."""

    def kill(error_type: str = "Boom", message: str | None = "no luck", **options: Any) -> str:
        task_id = make_task("dead", **options).task_id
        error = json.dumps({"type": error_type, "message": message, "category": "permanent"})
        connection.execute("UPDATE callboard.tasks SET error = %s WHERE id = %s", [error, task_id])
        return task_id

    return kill


@pytest.mark.parametrize(
    ("message", "normalized"),
    [
        ("Task tq_0199b2c7f3a87d1e9b1c2d3e4f5a6b7c failed after 12.5 s", "Task <id> failed after <n> s"),
        ("request req_011CabcXYZ12 of 01234567-89AB-cdef-0123-456789abcdef", "request <id> of <id>"),
        ("too late: 2026-11-17T10:00:00.123Z, 2026-11-17 and 10:30", "too late: <time>, <time> and <n>"),
        ("can't open '/tmp/x/y.png': it's gone", "can't open <text>: it's gone"),
        ("No such file: /home/ann/data/a.csv (C:\\Users\\ann\\b.csv)", "No such file: <path> (<path>)"),
        ("GET https://api.example.org/v1/files/7?x=1#y failed", "GET https://api.example.org/<path> failed"),
        ("http://localhost:80/ and file:///home/x", "http://localhost:<n>/<path> and file:///<path>"),
        ('Error 4: {"error": {"text": "No such model", "code": 17}}', "Error <n>: {error: {text: <text>, code: <n>}}"),
        ("at 0xDEADBEEF and 1e9b1c2d3e4f, deadbeef", "at <hex> and <hex>, deadbeef"),
        ("10.0.0.7:5432 sent 1,234,567 bytes", "<n> sent <n> bytes"),
        ("[1, 2, 3] and [1, 2]", "[<n>, …] and [<n>, …]"),
        ("„Akte“ “Akt” «acte» `x`: Größe 17 über 🦊", "<text> <text> <text> <text>: Größe <n> über 🦊"),
        ("application/json and/or 3/4", "application/json and/or <n>/<n>"),
        ("\n\n  the first line \r\nthe second", "the first line"),
        ("", ""),
        (None, None),
    ],
)  # fmt: skip
def test_messages(message: str | None, normalized: str | None, normalize: Normalize) -> None:
    assert normalize(message) == normalized


def test_huge_messages(normalize: Normalize) -> None:
    for text in ("a" * 10_000_000, "'/b/c \"" * 100_000, "\n" * 100_000 + "late", "x1" * 50_000):
        assert len(normalize(text) or "") <= 300


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
@given(
    words=st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Nd"]), min_size=1, max_size=8), max_size=5),
    numbers=st.tuples(st.integers(0, 10**30), st.integers(0, 10**30)),
    id_hex=st.uuids(),
)
def test_what_is_particular_to_a_task_makes_no_group(
    words: list[str], numbers: tuple[int, int], id_hex: Any, connection: Observer
) -> None:
    text = " ".join(words).replace("'", "").replace("{", "").replace("}", "")

    def fingerprint(error_type: str, number: int, its_id: str) -> str:
        error = {"type": error_type, "message": f"tq_{its_id} waited {number} s: {text}"}
        found: str = connection.fetch_one("SELECT callboard.error_fingerprint(%s) AS it", [json.dumps(error)])["it"]
        return found

    one = fingerprint("Boom", numbers[0], id_hex.hex)
    assert one == fingerprint("Boom", numbers[1], "0199b2c7f3a87d1e9b1c2d3e4f5a6b7c")
    assert one != fingerprint("Bang", numbers[0], id_hex.hex)
    assert re.fullmatch("[0-9a-f]{16}", one)


def test_every_error_has_a_fingerprint(connection: Observer) -> None:
    for error in (None, "{}", "3", "[]", '"x"', '{"type": null, "message": {"a": 1}}'):
        assert connection.fetch_one("SELECT callboard.error_fingerprint(%s) AS it", [error])["it"]


def test_groups(kill: Kill, clock: Clock) -> None:
    kill("Boom", "item 1 is gone", actor="quick")
    clock.advance(2 * 3600)
    kill("Boom", "item 22 is gone", actor="slow")
    kill("Bang", "item 3 is gone")
    newest = kill("Boom", "item 333 is gone", actor="quick")
    boom, bang = list_error_groups()
    assert (boom.error_type, boom.message, boom.normalized_message) == ("Boom", "item 333 is gone", "item <n> is gone")
    assert (boom.task_id, boom.tasks, boom.counted_all) == (newest, 3, True)
    assert boom.actors == [{"actor": "quick", "tasks": 2}, {"actor": "slow", "tasks": 1}]
    assert 7200 <= (boom.last_seen - boom.first_seen).total_seconds() < 7300
    assert boom.trend == [*[0] * 21, 1, 0, 2]
    assert (bang.tasks, bang.trend) == (1, [*[0] * 23, 1])
    clock.advance(30 * 3600)
    assert list_error_groups()[0].trend == [0] * 24
    assert list_error_groups(older_than=31 * 3600.0)[0].tasks == 1


def test_filters(kill: Kill) -> None:
    kill("Boom", tenant="acme")
    kill("Boom", actor="slow", payload={"agent_name": "text", "task_type": "count"})
    kill("Bang", tenant="acme")
    [boom] = list_error_groups(actor="slow")
    assert boom.tasks == 1
    for wanted in ({"agent_name": "text"}, {"task_type": "count"}, {"tenant": "acme", "error_type": "Boom"}):
        assert [(each.fingerprint, each.tasks) for each in list_error_groups(**wanted)] == [(boom.fingerprint, 1)]  # type: ignore[arg-type]
    assert [each.tasks for each in list_error_groups(fingerprint=boom.fingerprint)] == [2]
    assert [each.tasks for each in list_error_groups(caller=Caller("reader", tenant="acme"))] == [1, 1]
    for nothing in (
        {"actor": "none"},
        {"fingerprint": "0"},
        {"fingerprint": "zz"},
        {"fingerprint": "Ω"},
        {"tenant": "x"},
    ):
        assert list_error_groups(**nothing) == []  # type: ignore[arg-type]


def test_pages(kill: Kill) -> None:
    for n in range(7):
        kill(f"Error{n % 4}")
    whole = list_error_groups()
    assert [each.error_type for each in whole] == ["Error2", "Error1", "Error0", "Error3"]
    first = list_error_groups(limit=3)
    assert first == whole[:3]
    assert list_error_groups(before=first[-1].task_id, limit=3) == whole[3:]


def test_what_is_alive_or_deleted_belongs_to_no_group(kill: Kill, make_task: TaskBuilder) -> None:
    make_task("completed")
    gone, again, stays = (kill() for _ in range(3))
    delete(gone)
    retry(again)
    [group] = list_error_groups()
    assert (group.tasks, group.task_id) == (1, stays)
    assert [task.task_id for task in list_dead_letters(fingerprint=group.fingerprint)] == [stays]


def test_a_group_is_redriven_and_dismissed(kill: Kill) -> None:
    lost = [kill("Boom", f"item {n}", tenant="acme" if n % 2 else None) for n in range(5)]
    others = [kill("Boom", "another"), kill("Bang", "item 1")]
    group = next(each for each in list_error_groups() if each.normalized_message == "item <n>" and each.tasks == 5)
    preview = redrive(fingerprint=group.fingerprint, dry_run=True)
    assert (preview.tasks, preview.groups) == (5, [{"actor": "quick", "error_type": "Boom", "tasks": 5}])
    assert redrive(fingerprint=group.fingerprint, tenant="acme").tasks == 2
    assert act_on_all("retry", status="dead", fingerprint=group.fingerprint, dry_run=True).tasks == 3
    assert act_on_all("retry", fingerprint=group.fingerprint, actor="quick", tenant="none").tasks == 0
    assert dismiss_many(fingerprint=group.fingerprint).tasks == 3
    assert {get_task(each).status for each in lost[::2]} == {"canceled"}
    assert {get_task(each).status for each in lost[1::2]} == {"queued"}
    assert {get_task(each).status for each in others} == {"dead"}
    [bang] = list_error_groups(error_type="Bang")
    assert act_on_all("retry", fingerprint=bang.fingerprint).tasks == 1
