"""When a schedule is due: a cron expression in a time zone.

CronSim matches wall clock times as Debian's cron does. What a change of the clocks means follows here, because CronSim
itself misses times where the clocks change by half an hour:

- A fixed time of day (neither the minute nor the hour begins with `*`) that the clocks skip is due at the moment after
  the gap; one that they repeat is due the first time only.
- Any other expression follows the wall clock: skipped times do not come, repeated ones come twice."""

import difflib
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from state.errors import InvalidPayload

ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_LONGEST = 200  # characters of an expression
_STEP = timedelta(days=7)  # no zone changes its clocks twice in a week
_SECOND = timedelta(seconds=1)
_NOT_ZONES = {"localtime", "Factory"}  # of the machine, of nowhere


class Timetable:
    """All moments are in UTC, and strictly after the given one."""

    def __init__(self, cron: str, timezone: str) -> None:
        """Raises InvalidPayload."""
        self._zone = _get_zone(timezone)
        self._cron = _expand(cron)
        try:
            self._matcher = CronSim(self._cron, datetime(2000, 1, 1))  # noqa: DTZ001  (a wall clock)
        except CronSimError as wrong:
            raise _refuse(f"{str(wrong)[0].lower()}{str(wrong)[1:]} in {cron!r}") from None
        minute, hour, *_ = self._cron.split()
        self._is_fixed = not minute.startswith("*") and not hour.startswith("*")

    def describe(self) -> str:
        """Returns the expression in words."""
        return self._matcher.explain()

    def find_next(self, after: datetime) -> datetime:
        """Raises InvalidPayload if the expression is never due."""
        for moment in self._iterate(after):
            return moment
        raise _refuse(f"{self._cron!r} is never due")

    def list_next(self, after: datetime, count: int) -> list[datetime]:
        return list(islice(self._iterate(after), count))

    def list_newest(self, after: datetime, until: datetime, most: int) -> list[datetime]:
        """Returns the newest moments up to `until`, in their order. Looks only as far back as it must: there may be
        years between the two."""
        span = timedelta(minutes=most)
        while True:
            since = max(after, until - span)
            found = deque(self._iterate_until(since, until), maxlen=most)
            if len(found) == most or since == after:
                return list(found)
            span *= 4

    def _iterate_until(self, after: datetime, until: datetime) -> Iterator[datetime]:
        for moment in self._iterate(after):
            if moment > until:
                return
            yield moment

    def _iterate(self, after: datetime) -> Iterator[datetime]:
        after = after.astimezone(UTC)
        return self._iterate_fixed(after) if self._is_fixed else self._iterate_wall_clock(after)

    def _iterate_fixed(self, after: datetime) -> Iterator[datetime]:
        for local in CronSim(self._cron, after.astimezone(self._zone)):
            moment = local.astimezone(UTC)
            if moment > after:  # CronSim takes a time that comes twice for the first one
                yield moment

    def _iterate_wall_clock(self, after: datetime) -> Iterator[datetime]:
        """As long as the offset from UTC is the same, the wall clock is a plain one."""
        offset = self._get_offset(after)
        changed: datetime | None = after
        while changed is not None:
            last, changed = changed, None
            for wall in CronSim(self._cron, (last + offset).replace(tzinfo=None)):
                moment = wall.replace(tzinfo=UTC) - offset
                changed = self._find_change(last, moment, offset)
                if changed is not None:
                    offset = self._get_offset(changed)
                    changed -= _SECOND  # at the change itself, something may be due
                    break
                yield moment
                last = moment

    def _find_change(self, after: datetime, until: datetime, offset: timedelta) -> datetime | None:
        """Returns the first moment that has another offset, or None."""
        while after < until:
            later = min(after + _STEP, until)
            if self._get_offset(later) != offset:
                break
            after = later
        else:
            return None
        while later - after > _SECOND:
            middle = after + timedelta(seconds=(later - after) // _SECOND // 2)
            if self._get_offset(middle) == offset:
                after = middle
            else:
                later = middle
        return later

    def _get_offset(self, moment: datetime) -> timedelta:
        return moment.astimezone(self._zone).utcoffset() or timedelta(0)


@cache
def list_timezones() -> frozenset[str]:
    return frozenset(available_timezones() - _NOT_ZONES)


def _get_zone(name: str) -> ZoneInfo:
    if name not in list_timezones():
        similar = difflib.get_close_matches(name[:100], list_timezones(), n=1)
        meant = f"; did you mean {similar[0]}?" if similar else ", such as Europe/Berlin or UTC"
        raise InvalidPayload(f"timezone: {name[:100]!r} is not an IANA time zone{meant}", "timezone")
    return ZoneInfo(name)


def _expand(cron: str) -> str:
    expanded = ALIASES.get(cron.strip().lower(), cron)
    if expanded.startswith("@"):
        raise _refuse(f"{cron[:50]!r} is none of {', '.join(ALIASES)}")
    if len(expanded) > _LONGEST:
        raise _refuse(f"is longer than {_LONGEST} characters")
    if len(expanded.split()) != 5:
        raise _refuse(f"{cron!r} has not five fields")
    return expanded


def _refuse(message: str) -> InvalidPayload:
    hint = 'minute hour day-of-month month day-of-week, such as "30 6 * * 1-5"; or @daily'
    return InvalidPayload(f"cron: {message} ({hint})", "cron")
