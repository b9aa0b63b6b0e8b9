"""Creating, changing and deleting schedules; tenants and roles; schedules that code declares."""

from typing import Any

import pytest

from state.access.caller import Caller
from state.errors import Forbidden, InvalidDeclaration, InvalidPayload, ScheduleExists, ScheduleNotFound, UnknownActor
from state.schedules import declarations
from state.schedules.changes import (
    change_schedule,
    create_schedule,
    delete_schedule,
    pause_schedule,
    resume_schedule,
)
from state.schedules.declarations import Declarations, declare_schedule
from state.schedules.reads import Schedule, get_schedule, list_runs, list_schedules
from state.schedules.starts import start_due, start_schedule
from tests.schedules.conftest import MakeSchedule, SetClock, at, list_ticks
from tests.support.observer import Observer

ACME, OTHER = Caller("operator", "acme", name="Ann"), Caller("operator", "other")
COMMAND = {"agent_name": "command", "task_type": "run", "input": {"command": ["true"]}}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"cron": "61 * * * *"}, "cron"),
    ({"cron": "0 0 30 2 *"}, "cron"),
    ({"timezone": "Mars/Base"}, "timezone"),
    ({"payload": {"seconds": "soon"}}, "payload.seconds"),
    ({"queue": "nowhere"}, "queue"),
    ({"priority": 9}, "priority"),
    ({"max_attempts": 0}, "max_attempts"),
    ({"jitter_seconds": -1}, "jitter_seconds"),
    ({"catch_up": "most"}, "catch_up"),
    ({"overlap": "maybe"}, "overlap"),
    ({"name": ""}, "name"),
    ({"name": "a\nb"}, "name"),
    ({"target": ""}, "target"),
]


def test_what_could_start_nothing_is_refused(make_schedule: MakeSchedule) -> None:
    made = make_schedule()
    for options, field in WRONG:
        with pytest.raises(InvalidPayload) as refused:
            make_schedule(**options)
        assert refused.value.field == field
        with pytest.raises(InvalidPayload) as refused:
            change_schedule(made.schedule_id, **options)
        assert refused.value.field == field
    assert list_schedules() == [made]


def test_an_unknown_actor_is_refused(make_schedule: MakeSchedule) -> None:
    with pytest.raises(UnknownActor):
        make_schedule(actor="nobody")
    with pytest.raises(InvalidPayload, match="created by"):
        make_schedule(actor="project_run")


def test_names_are_unique_within_a_tenant(make_schedule: MakeSchedule) -> None:
    make_schedule(name="a")
    make_schedule(name="a", tenant="acme")
    with pytest.raises(ScheduleExists, match="'a' already"):
        make_schedule(name="a")
    with pytest.raises(ScheduleExists, match="of tenant acme"):
        make_schedule(name="a", tenant="acme")
    second = make_schedule(name="b")
    with pytest.raises(ScheduleExists):
        change_schedule(second.schedule_id, name="a")
    delete_schedule(second.schedule_id)
    assert make_schedule(name="b").schedule_id != second.schedule_id


def test_changes(make_schedule: MakeSchedule, set_clock: SetClock) -> None:
    made = make_schedule(priority="low", payload={"text": "old"})
    changed = change_schedule(made.schedule_id, payload={"text": "new"}, jitter_seconds=5)
    assert (changed.payload["text"], changed.jitter_seconds, changed.priority) == ("new", 5, 3)
    assert (changed.next_at, changed.created_at) == (made.next_at, made.created_at)
    moved = change_schedule(made.schedule_id, cron="0 14 * * *", timezone="Europe/Berlin", priority=None)
    assert (moved.next_at, moved.priority) == (at("12:00", 16).replace(second=0), 2)  # 14:00 in Berlin is over
    pause_schedule(made.schedule_id)
    assert change_schedule(made.schedule_id, cron="@hourly").next_at is None
    assert resume_schedule(made.schedule_id).next_at == at("13:00").replace(second=0)
    with pytest.raises(InvalidPayload, match="tenant: cannot be changed"):
        change_schedule(made.schedule_id, tenant="acme")


def test_a_deleted_schedule_is_gone_and_its_history_stays(
    make_schedule: MakeSchedule, set_clock: SetClock, connection: Observer
) -> None:
    schedule = make_schedule()
    start_schedule(schedule.schedule_id)
    delete_schedule(schedule.schedule_id)
    set_clock(at("12:10"))
    assert start_due() == 0
    for verb in (get_schedule, pause_schedule, resume_schedule, start_schedule, delete_schedule, list_runs):
        with pytest.raises(ScheduleNotFound):
            verb(schedule.schedule_id)
    assert list_schedules() == []
    assert connection.fetch_one("SELECT count(*) AS n FROM admin.schedule_runs")["n"] == 1


# Who may do what.


def test_a_tenant_sees_and_changes_its_own_schedules_only(make_schedule: MakeSchedule) -> None:
    mine = make_schedule(caller=ACME)
    assert (mine.tenant, mine.created_by) == ("acme", "Ann")
    nobodys = make_schedule()
    assert [each.schedule_id for each in list_schedules(caller=ACME)] == [mine.schedule_id]
    assert list_schedules(tenant="acme", caller=OTHER) == []
    assert len(list_schedules()) == 2
    for schedule, caller in ((mine, OTHER), (nobodys, ACME)):
        for verb in (get_schedule, pause_schedule, resume_schedule, start_schedule, delete_schedule, list_runs):
            with pytest.raises(ScheduleNotFound):
                verb(schedule.schedule_id, caller=caller)
        with pytest.raises(ScheduleNotFound):
            change_schedule(schedule.schedule_id, cron="@daily", caller=caller)
    with pytest.raises(Forbidden, match="tenant acme"):
        make_schedule(tenant="other", caller=ACME)
    run = start_schedule(mine.schedule_id, caller=ACME)
    assert (run.asked_by, list_runs(mine.schedule_id, caller=ACME)[0].asked_by) == ("Ann", "Ann")
    assert change_schedule(mine.schedule_id, cron="@daily", caller=ACME).tenant == "acme"


def test_an_actor_that_the_caller_may_not_use(make_schedule: MakeSchedule) -> None:
    """Not by creating, not by changing, and not by starting a schedule."""
    careful = Caller("operator", commands=False)
    with pytest.raises(Forbidden):
        make_schedule(actor="agent", payload=COMMAND, caller=careful)
    made = make_schedule()
    with pytest.raises(Forbidden):
        change_schedule(made.schedule_id, actor="agent", payload=COMMAND, caller=careful)
    dangerous = make_schedule(actor="agent", payload=COMMAND)
    with pytest.raises(Forbidden):
        start_schedule(dangerous.schedule_id, caller=careful)
    with pytest.raises(Forbidden):
        make_schedule(priority=0, caller=Caller("submitter"))


# Declared in code.


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    known: dict[str, Any] = {}
    monkeypatch.setattr(declarations, "_declared", known)
    return known


def deploy(known: dict[str, Any], cron: str, **options: Any) -> Schedule | None:
    """Another version of the code becomes the maintainer. Returns the schedule."""
    known.clear()
    declare_schedule("nightly", cron, "note", **options)
    Declarations().write()
    return next(iter(list_schedules()), None)


def test_a_declared_schedule_follows_the_code(
    declared: dict[str, Any], make_schedule: MakeSchedule, set_clock: SetClock
) -> None:
    made = deploy(declared, "0 13 * * *", payload={"text": "a"})
    assert made is not None
    assert (made.declared_in_code, made.next_at) == (True, at("13:00").replace(second=0))
    again = deploy(declared, "0 13 * * *", payload={"text": "a"})
    assert again == made  # nothing was written
    changed = deploy(declared, "0 14 * * *", payload={"text": "b"})
    assert changed is not None
    assert (changed.schedule_id, changed.next_at) == (made.schedule_id, at("14:00").replace(second=0))
    assert changed.payload["text"] == "b"
    set_clock(at("14:00"))
    start_due()
    assert list_ticks(changed) == ["14:00"]


def test_a_deploy_does_not_undo_what_an_operator_has_done(
    declared: dict[str, Any], make_schedule: MakeSchedule
) -> None:
    made = deploy(declared, "0 13 * * *", payload={"text": "a"})
    assert made is not None
    change_schedule(made.schedule_id, cron="30 15 * * *")
    pause_schedule(made.schedule_id)
    kept = deploy(declared, "0 14 * * *", payload={"text": "b"})
    assert kept is not None
    assert (kept.cron, kept.paused, kept.payload["text"]) == ("30 15 * * *", True, "b")
    delete_schedule(made.schedule_id)
    assert deploy(declared, "0 16 * * *") is None


def test_a_schedule_of_a_user_by_the_same_name_stays_as_it_is(
    declared: dict[str, Any], make_schedule: MakeSchedule
) -> None:
    make_schedule("0 20 * * *", name="nightly")
    kept = deploy(declared, "0 13 * * *")
    assert kept is not None
    assert (kept.cron, kept.declared_in_code) == ("0 20 * * *", True)


def test_a_wrong_declaration(
    declared: dict[str, Any], make_schedule: MakeSchedule, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InvalidDeclaration, match="'nightly': cron: bad minute"):
        declare_schedule("nightly", "61 * * * *", "note")
    declare_schedule("unknown", "@daily", "nobody")
    declare_schedule("good", "@daily", "note")
    declare_schedule("good", "@daily", "note")  # a module that is imported again
    with pytest.raises(InvalidDeclaration, match="twice"):
        declare_schedule("good", "@hourly", "note")
    Declarations().write()  # does not keep the maintainer from its work
    assert [each.name for each in list_schedules()] == ["good"]
    assert "There is no actor 'nobody'" in "".join(capsys.readouterr())


def test_two_maintainers_declare_at_once(declared: dict[str, Any], make_schedule: MakeSchedule) -> None:
    declare_schedule("nightly", "@daily", "note")
    first, second = Declarations(), Declarations()
    first.write()
    second.write()
    assert len(list_schedules()) == 1
    with pytest.raises(ScheduleExists):
        create_schedule("nightly", "@daily", "note")
