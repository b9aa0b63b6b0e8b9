"""When a schedule is due: cron expressions, time zones, and changes of the clocks."""

from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from state.errors import InvalidPayload
from state.schedules.timetable import ALIASES, Timetable

MINUTE = timedelta(minutes=1)


def list_local(cron: str, zone: str, day: date, days: int = 1) -> list[str]:
    """Returns the ticks of a day as the wall clock shows them, with the offset from UTC."""
    begin = datetime.combine(day, datetime.min.time(), ZoneInfo(zone)).astimezone(UTC)
    end = datetime.combine(day + timedelta(days), datetime.min.time(), ZoneInfo(zone)).astimezone(UTC)
    ticks = Timetable(cron, zone).list_newest(begin - MINUTE, end - MINUTE, 2000)
    return [tick.astimezone(ZoneInfo(zone)).strftime("%H:%M%z") for tick in ticks]


@pytest.mark.parametrize(
    ("zone", "day", "cron", "expected"),
    [
        # Fixed times in the hour that is skipped: once, at the moment after it.
        ("Europe/Berlin", date(2030, 3, 31), "30 2 * * *", ["03:00+0200"]),
        ("Europe/Berlin", date(2030, 3, 31), "0,30 2 * * *", ["03:00+0200"]),
        ("Europe/Berlin", date(2030, 3, 31), "0 2,3,4 * * *", ["03:00+0200", "04:00+0200"]),
        ("America/New_York", date(2030, 3, 10), "15 2 * * *", ["03:00-0400"]),
        ("Australia/Lord_Howe", date(2030, 10, 6), "15 2 * * *", ["02:30+1100"]),
        ("UTC", date(2030, 3, 31), "30 2 * * *", ["02:30+0000"]),
        # Fixed times in the hour that comes twice: the first time only.
        ("Europe/Berlin", date(2030, 10, 27), "30 2 * * *", ["02:30+0200"]),
        ("America/New_York", date(2030, 11, 3), "0,30 1 * * *", ["01:00-0400", "01:30-0400"]),
        ("Australia/Lord_Howe", date(2030, 4, 7), "45 1 * * *", ["01:45+1100"]),
        # Others go on through both.
        ("Europe/Berlin", date(2030, 3, 31), "*/30 1-3 * * *",
         ["01:00+0100", "01:30+0100", "03:00+0200", "03:30+0200"]),
        ("Europe/Berlin", date(2030, 10, 27), "0 */2 * * *", ["00:00+0200", "02:00+0200", "02:00+0100", "04:00+0100"]),
        ("Australia/Lord_Howe", date(2030, 10, 6), "*/15 2-3 * * *",
         ["02:30+1100", "02:45+1100", "03:00+1100", "03:15+1100", "03:30+1100", "03:45+1100"]),
        ("Australia/Lord_Howe", date(2030, 10, 6), "*/30 3 * * *", ["03:00+1100", "03:30+1100"]),
        ("Australia/Lord_Howe", date(2030, 4, 7), "*/30 1 * * *", ["01:00+1100", "01:30+1100", "01:30+1030"]),
    ],
)  # fmt: skip
def test_the_day_on_which_the_clocks_change(zone: str, day: date, cron: str, expected: list[str]) -> None:
    found = list_local(cron, zone, day)
    assert found[: len(expected)] == expected
    assert len(found) == len(expected) or cron == "0 */2 * * *"


# An independent way to the same result: look at each minute.

ZONES = {
    "Europe/Berlin": (date(2030, 3, 31), date(2030, 10, 27)),
    "America/New_York": (date(2030, 3, 10), date(2030, 11, 3)),
    "Australia/Lord_Howe": (date(2030, 10, 6), date(2030, 4, 7)),
    "Africa/Cairo": (date(2030, 4, 26), date(2030, 10, 31)),  # at midnight
    "Asia/Kathmandu": (date(2030, 1, 1),),
    "UTC": (date(2030, 3, 31),),
}


def look_at_each_minute(minutes: str, hours: str, zone: str, begin: datetime, end: datetime) -> list[datetime]:
    fixed = not minutes.startswith("*") and not hours.startswith("*")
    wanted_minutes, wanted_hours = _expand(minutes, 60), _expand(hours, 24)

    def matches(wall: datetime) -> bool:
        return wall.hour in wanted_hours and wall.minute in wanted_minutes

    ticks = []
    before = (begin - MINUTE).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    moment = begin
    while moment <= end:
        local = moment.astimezone(ZoneInfo(zone))
        wall = local.replace(tzinfo=None)
        if fixed:
            skipped = [before + MINUTE * n for n in range(1, max((wall - before) // MINUTE, 1))]
            due = any(map(matches, [*skipped, wall])) and not local.fold
        else:
            due = matches(wall)
        if due:
            ticks.append(moment)
        before, moment = wall.replace(fold=0), moment + MINUTE
    return ticks


def _expand(field: str, size: int) -> set[int]:
    if field.startswith("*"):
        return set(range(0, size, int(field[2:] or 1)))
    return {int(part) for part in field.split(",")}


def _fields(size: int) -> st.SearchStrategy[str]:
    listed = st.lists(st.integers(0, size - 1), min_size=1, max_size=3).map(lambda parts: ",".join(map(str, parts)))
    return st.one_of(listed, st.sampled_from(["*", "*/2", "*/7", "*/15"]))


def test_every_15_minutes_means_every_15_minutes() -> None:
    for zone, days in ZONES.items():
        for day in days:
            start = datetime.combine(day, datetime.min.time(), UTC) - timedelta(days=2)
            ticks = Timetable("*/15 * * * *", zone).list_next(start, 4 * 96)
            assert {later - earlier for earlier, later in pairwise(ticks)} == {15 * MINUTE}, (zone, day)


@settings(max_examples=30, deadline=None)
@given(
    zone=st.sampled_from(sorted(ZONES)), which=st.integers(0, 1), minutes=_fields(60), hours=_fields(24),
    start=st.integers(0, 60 * 28),
)  # fmt: skip
@example(zone="Australia/Lord_Howe", which=0, minutes="*/15", hours="3", start=0)
@example(zone="Europe/Berlin", which=1, minutes="45", hours="2", start=25 * 60 + 30)
@example(zone="Africa/Cairo", which=0, minutes="*/15", hours="0", start=0)
def test_the_ticks_are_those_of_a_look_at_each_minute(
    zone: str, which: int, minutes: str, hours: str, start: int
) -> None:
    day = ZONES[zone][which % len(ZONES[zone])]
    begin = datetime.combine(day, datetime.min.time(), UTC) - timedelta(days=1) + start * MINUTE
    end = begin + timedelta(days=2)
    expected = look_at_each_minute(minutes, hours, zone, begin, end)
    timetable = Timetable(f"{minutes} {hours} * * *", zone)
    assert timetable.list_newest(begin - MINUTE, end, 5000) == expected
    one_by_one, moment = [], begin - MINUTE  # as the maintainer asks: each time anew, from the tick before
    while (moment := timetable.find_next(moment)) <= end:
        one_by_one.append(moment)
    assert one_by_one == expected


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="0123456789*/,-#LWMONJA @", max_size=40))
def test_any_text_is_an_expression_or_refused(text: str) -> None:
    with suppress(InvalidPayload):  # anything else fails
        timetable = Timetable(text, "Europe/Berlin")
        assert timetable.describe()
        timetable.find_next(datetime(2030, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("cron", "message"),
    [
        ("", "has not five fields"),
        ("0 0 * *", "has not five fields"),
        ("0 0 0 * * *", "has not five fields"),  # no seconds: a tick a minute at most
        ("60 * * * *", "bad minute"),
        ("0 24 * * *", "bad hour"),
        ("0 0 32 * *", "bad day-of-month"),
        ("0 0 * 13 *", "bad month"),
        ("0 0 * * 8", "bad day-of-week"),
        ("0 0 30 2 *", "bad day-of-month"),
        ("0 0 */31 2 MON#5", "is never due"),
        ("@never", "is none of @hourly, @daily"),
        ("* " * 200, "longer than 200"),
    ],
)
def test_a_wrong_expression_is_refused_with_its_field_and_an_example(cron: str, message: str) -> None:
    with pytest.raises(InvalidPayload, match=f"^cron: .*{message}.*30 6 \\* \\* 1-5") as refused:
        Timetable(cron, "UTC").find_next(datetime(2030, 1, 1, tzinfo=UTC))
    assert refused.value.field == "cron"


@pytest.mark.parametrize(
    "zone", ["", "Europe", "Mars/Base", "../../etc/passwd", "localtime", "+02:00", "\0", "x" * 5000]
)
def test_a_zone_that_is_none_is_refused(zone: str) -> None:
    with pytest.raises(InvalidPayload, match=r"^timezone: ") as refused:
        Timetable("@daily", zone)
    assert refused.value.field == "timezone"


def test_a_mistyped_zone_gets_a_proposal() -> None:
    with pytest.raises(InvalidPayload, match=r"did you mean Europe/Berlin\?"):
        Timetable("@daily", "Europe/Berln")


@pytest.mark.parametrize("alias", ALIASES)
def test_an_alias_is_its_expression(alias: str) -> None:
    start = datetime(2030, 1, 1, tzinfo=UTC)
    assert Timetable(alias, "UTC").list_next(start, 3) == Timetable(ALIASES[alias], "UTC").list_next(start, 3)


def test_years_between_two_looks_cost_nothing() -> None:
    """The newest ticks are found from their end: 26 million minutes lie before them."""
    now = datetime(2030, 1, 1, tzinfo=UTC)
    newest = Timetable("* * * * *", "Europe/Berlin").list_newest(datetime(1980, 1, 1, tzinfo=UTC), now, 100)
    assert newest == [now - MINUTE * n for n in range(99, -1, -1)]


def test_words() -> None:
    assert Timetable("30 6 * * 1-5", "UTC").describe() == "At 06:30 on Monday through Friday"
