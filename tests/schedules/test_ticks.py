"""What the maintainer does with ticks: on time, late, with the clock moved, beside a run that has not ended."""

from datetime import timedelta

import pytest

from state.database import transaction
from state.errors import InvalidPayload, ScheduleBusy
from state.maintenance.housekeeping import Housekeeping
from state.schedules.changes import pause_schedule, resume_schedule
from state.schedules.plan import MOST_STARTS, find_jitter
from state.schedules.reads import get_schedule, list_runs
from state.schedules.starts import BATCH, start_due, start_schedule
from state.tasks import catalog
from state.tasks.control import cancel
from state.tasks.reads import get_task
from tests.schedules.conftest import MakeSchedule, SetClock, at, list_ticks
from tests.support.observer import Observer
from tests.support.turns import do_turn


def test_a_tick_starts_one_task(make_schedule: MakeSchedule, set_clock: SetClock) -> None:
    schedule = make_schedule(
        payload={"text": "tick"}, tenant="acme", target="t", priority="high", max_attempts=7, queue="media"
    )
    assert [f"{tick:%H:%M}" for tick in schedule.next_ticks] == ["12:10", "12:20", "12:30", "12:40", "12:50"]
    assert start_due() == 0
    set_clock(at("12:10"))
    assert start_due() == 1
    assert start_due() == 0
    [run] = list_runs(schedule.schedule_id)
    assert (run.tick, run.outcome, run.missed, run.task_status) == (schedule.next_at, "started", 0, "queued")
    task = get_task(run.task_id or "")
    assert (task.actor, task.tenant, task.target, task.queue) == ("note", "acme", "t", "media")
    assert (task.priority, task.max_attempts, task.payload["text"]) == (1, 7, "tick")
    assert task.gates == ["target:acme/t", "tenant:acme"]
    after = get_schedule(schedule.schedule_id)
    assert (after.last_tick, after.last_task_id, after.next_at) == (run.tick, run.task_id, schedule.next_ticks[1])


def test_the_maintainer_does_it_each_turn(make_schedule: MakeSchedule, set_clock: SetClock) -> None:
    schedules = [make_schedule("0 13 * * *") for _ in range(2 * BATCH + 1)]
    maintainer = Housekeeping()
    do_turn(maintainer)
    set_clock(at("13:00"))
    while do_turn(maintainer):
        pass
    assert [list_ticks(each) for each in schedules] == [["13:00"]] * len(schedules)


@pytest.mark.parametrize(
    ("catch_up", "back_at", "started", "missed", "skipped"),
    [
        ("one", "13:05", ["13:00"], 5, []),
        ("one", "12:10", ["12:10"], 0, []),
        ("all", "13:05", ["12:10", "12:20", "12:30", "12:40", "12:50", "13:00"], 0, []),
        ("skip", "13:05", [], 5, ["13:00"]),
        ("skip", "13:00", ["13:00"], 5, []),  # that one is not late
        ("skip", "12:11", [], 0, ["12:10"]),
    ],
)
def test_missed_ticks(
    catch_up: str,
    back_at: str,
    started: list[str],
    missed: int,
    skipped: list[str],
    make_schedule: MakeSchedule,
    set_clock: SetClock,
) -> None:
    schedule = make_schedule(catch_up=catch_up)
    set_clock(at(back_at))
    start_due()
    assert list_ticks(schedule, outcome="started") == started
    assert list_ticks(schedule, outcome="skipped") == skipped
    assert list_runs(schedule.schedule_id)[-1].missed == missed
    assert get_schedule(schedule.schedule_id).next_at == at(back_at).replace(second=0) + timedelta(
        minutes=10 - at(back_at).minute % 10
    )


def test_a_leap_of_a_year_starts_a_bounded_number(make_schedule: MakeSchedule, set_clock: SetClock) -> None:
    each, one = make_schedule("* * * * *", catch_up="all"), make_schedule("* * * * *")
    set_clock(at("12:00").replace(year=2031))
    while start_due():
        pass
    runs = list_runs(each.schedule_id, limit=1000)
    assert len(runs) == MOST_STARTS
    assert runs[0].tick == at("12:00").replace(year=2031, second=0)
    assert runs[-1].missed == 900  # counted up to 1,000 in all
    assert [run.missed for run in list_runs(one.schedule_id)] == [999]


def test_a_clock_that_goes_back_starts_nothing_twice(make_schedule: MakeSchedule, set_clock: SetClock) -> None:
    schedule = make_schedule()
    for moment in ("12:10", "12:20", "12:30"):
        set_clock(at(moment))
        start_due()
    set_clock(at("12:05"))
    assert start_due() == 0
    for moment in ("12:10", "12:20", "12:39"):
        set_clock(at(moment))
        start_due()
    assert list_ticks(schedule) == ["12:10", "12:20", "12:30"]
    # An operator who lets it begin anew gets no second start either: a tick has one row.
    set_clock(at("12:05"))
    pause_schedule(schedule.schedule_id)
    assert resume_schedule(schedule.schedule_id).next_at == at("12:10").replace(second=0)
    for moment in ("12:10", "12:20", "12:30", "12:40"):
        set_clock(at(moment))
        start_due()
    assert list_ticks(schedule) == ["12:10", "12:20", "12:30", "12:40"]


def test_the_database_refuses_a_second_run_of_a_tick(
    make_schedule: MakeSchedule, set_clock: SetClock, connection: Observer
) -> None:
    schedule = make_schedule()
    set_clock(at("12:10"))
    start_due()
    copy = """INSERT INTO callboard.schedule_runs (schedule_id, n, tick, outcome, task_id, created_at)
              SELECT schedule_id, 2, tick, 'started', 'tq_other', created_at FROM callboard.schedule_runs"""
    with pytest.raises(Exception, match="schedule_runs_tick"):
        connection.execute(copy)
    connection.execute("UPDATE callboard.schedules SET next_at = next_at - interval '10 minutes'")
    assert start_due() == 1
    assert list_ticks(schedule) == ["12:10"]
    assert get_schedule(schedule.schedule_id).next_at == at("12:20").replace(second=0)


def test_a_paused_schedule_starts_nothing_and_makes_up_for_nothing(
    make_schedule: MakeSchedule, set_clock: SetClock
) -> None:
    schedule = make_schedule(catch_up="all")
    paused = pause_schedule(schedule.schedule_id)
    assert (paused.paused, paused.next_at, paused.next_ticks) == (True, None, [])
    set_clock(at("12:35"))
    assert start_due() == 0
    assert pause_schedule(schedule.schedule_id).paused
    assert resume_schedule(schedule.schedule_id).next_at == at("12:40").replace(second=0)
    set_clock(at("12:40"))
    start_due()
    assert list_ticks(schedule) == ["12:40"]


def test_jitter_delays_a_task_always_by_the_same(make_schedule: MakeSchedule, set_clock: SetClock) -> None:
    schedule = make_schedule("*/10 * * * *", jitter_seconds=300)
    set_clock(at("12:10"))
    start_due()
    [run] = list_runs(schedule.schedule_id)
    assert run.tick is not None
    delay = find_jitter(schedule.schedule_id, run.tick, 300)
    task = get_task(run.task_id or "")
    expected = max(run.tick + timedelta(seconds=delay), run.created_at)
    assert abs(task.available_at - expected) < timedelta(milliseconds=10)
    assert task.status == ("queued" if expected == run.created_at else "scheduled")
    assert find_jitter(schedule.schedule_id, run.tick, 300) == delay
    spread = [find_jitter("sc_1", run.tick + timedelta(minutes=n), 300) for n in range(1000)]
    assert 0 <= min(spread) < 15 < 285 < max(spread) < 300
    assert 130 < sum(spread) / 1000 < 170


def test_no_overlap(make_schedule: MakeSchedule, set_clock: SetClock) -> None:
    schedule = make_schedule(overlap="skip")
    set_clock(at("12:10"))
    start_due()
    set_clock(at("12:20"))
    start_due()
    first = get_schedule(schedule.schedule_id).last_task_id or ""
    assert [(run.outcome, run.reason) for run in list_runs(schedule.schedule_id)] == [
        ("skipped", f"task {first} has not ended"),
        ("started", None),
    ]
    with pytest.raises(ScheduleBusy, match=first):
        start_schedule(schedule.schedule_id)
    cancel(first)
    assert start_schedule(schedule.schedule_id).outcome == "started"
    set_clock(at("12:30"))
    start_due()
    assert list_ticks(schedule, outcome="started") == ["12:10", "asked for"]


def test_a_run_that_is_asked_for_stands_beside_the_ticks(make_schedule: MakeSchedule, set_clock: SetClock) -> None:
    schedule = make_schedule()
    pause_schedule(schedule.schedule_id)
    run = start_schedule(schedule.schedule_id)
    assert (run.tick, run.n, run.task_status) == (None, 1, "queued")
    assert get_schedule(schedule.schedule_id).last_task_id == run.task_id
    resume_schedule(schedule.schedule_id)
    set_clock(at("12:10"))
    start_due()
    assert list_ticks(schedule) == ["asked for", "12:10"]


# What can be wrong with a schedule since it was created.


def test_a_payload_that_is_not_valid_any_more(
    make_schedule: MakeSchedule, set_clock: SetClock, connection: Observer
) -> None:
    schedule, other = make_schedule(), make_schedule()
    connection.execute(
        'UPDATE callboard.schedules SET payload = \'{"seconds": "soon"}\' WHERE id = %s', [schedule.schedule_id]
    )
    set_clock(at("12:10"))
    do_turn()
    [run] = list_runs(schedule.schedule_id)
    assert (run.outcome, run.task_id) == ("failed", None)
    assert "payload.seconds" in (run.reason or "")
    assert get_schedule(schedule.schedule_id).last_error == run.reason
    assert list_ticks(other, outcome="started") == ["12:10"]
    with pytest.raises(InvalidPayload, match=r"payload\.seconds"):
        start_schedule(schedule.schedule_id)
    connection.execute("UPDATE callboard.schedules SET payload = '{}'")
    set_clock(at("12:20"))
    start_due()
    assert list_ticks(schedule, outcome="started") == ["12:20"]
    assert get_schedule(schedule.schedule_id).last_error is None


def test_a_task_that_cannot_be_stored_fails_alone(
    make_schedule: MakeSchedule, set_clock: SetClock, connection: Observer
) -> None:
    wrong, other = make_schedule(), make_schedule()
    connection.execute("ALTER TABLE callboard.tasks ADD CONSTRAINT no_mail CHECK (target IS DISTINCT FROM 'mail')")
    connection.execute("UPDATE callboard.schedules SET target = 'mail' WHERE id = %s", [wrong.schedule_id])
    set_clock(at("12:10"))
    start_due()
    assert "no_mail" in (get_schedule(wrong.schedule_id).last_error or "")
    assert [run.outcome for run in list_runs(wrong.schedule_id)] == ["failed"]
    assert list_ticks(other, outcome="started") == ["12:10"]


def test_the_maintainer_needs_not_know_the_actor(
    make_schedule: MakeSchedule, set_clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = make_schedule(payload={"text": "x"})
    monkeypatch.setattr(catalog, "_actors", {})
    set_clock(at("12:10"))
    start_due()
    assert list_ticks(schedule, outcome="started") == ["12:10"]


def test_a_zone_that_is_gone_pauses_the_schedule(
    make_schedule: MakeSchedule, set_clock: SetClock, connection: Observer
) -> None:
    schedule, other = make_schedule(), make_schedule()
    connection.execute("UPDATE callboard.schedules SET timezone = 'Mars/Base' WHERE id = %s", [schedule.schedule_id])
    set_clock(at("12:10"))
    do_turn()
    row = connection.fetch_one(
        "SELECT paused, last_error FROM callboard.schedules WHERE id = %s", [schedule.schedule_id]
    )
    assert row["paused"]
    assert "Mars/Base" in row["last_error"]
    assert list_ticks(other) == ["12:10"]


def test_a_row_that_somebody_has_locked_keeps_nobody_waiting(make_schedule: MakeSchedule, set_clock: SetClock) -> None:
    locked, other = make_schedule(), make_schedule()
    set_clock(at("12:10"))
    with transaction() as own:
        own.execute("SELECT FROM callboard.schedules WHERE id = %s FOR UPDATE", [locked.schedule_id])
        assert start_due() == 1  # waiting for the lock would fail
    assert (list_ticks(locked), list_ticks(other)) == ([], ["12:10"])
    start_due()
    assert list_ticks(locked) == ["12:10"]
