"""The verdict: what has grown, and what may. A slope is the median of the slopes between all pairs of samples (Theil
and Sen), which a few peaks do not change. The first third is left out: caches fill, plans are made, pools open
connections. What fills up later grows more slowly in the end; a leak does not. So the smaller slope counts, of all the
rest or of its second half."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import median
from typing import NamedTuple

Points = Sequence[tuple[float, float]]

# By the beginning of a name: how much it may grow in an hour, as a part of its own mean.
_BOUNDS = {
    "memory of worker ": 0.05,
    "memory of the server": 0.05,
    "memory of Postgres": 0.25,  # its caches, and the plans of each connection
    "processes of": 0.02,
    "connections": 0.10,
    "unfinished tasks": 0.50,
    "tasks, bytes a row": 0.05,
    "events, bytes a row": 0.05,
    "attempts, bytes a row": 0.05,
    "indexes of": 0.10,
    "tables of the living": 0.25,
    "event lag p50": 0.25,
}
_SMALLEST = {"MB": 2.0, "s": 0.05, "": 5.0, "bytes a row": 30.0}  # in an hour, by unit: less is no growth
_SHORTEST = 1200.0  # seconds, after the first third: it takes so long until everything has happened several times
_MOST = 300  # points of which pairs are made


class Growth(NamedTuple):
    name: str
    mean: float
    an_hour: float
    bound: float
    seconds: float  # that the points span

    @property
    def is_known(self) -> bool:
        return self.seconds >= _SHORTEST

    @property
    def is_too_much(self) -> bool:
        return self.is_known and self.an_hour > self.bound

    def __str__(self) -> str:
        verdict = "GROWS" if self.is_too_much else "ok" if self.is_known else "too short to say"
        return (
            f"{self.name:40} mean {self.mean:10.2f}  an hour {self.an_hour:+10.2f}  bound {self.bound:8.2f}  {verdict}"
        )


def judge_growth(columns: Mapping[str, Points]) -> list[Growth]:
    found = []
    for name, points in columns.items():
        share = next((share for start, share in _BOUNDS.items() if name.startswith(start)), None)
        settled = list(points)[len(points) // 3 :]
        if share is not None and len(settled) >= 6:
            mean = sum(value for _, value in settled) / len(settled)
            smallest = _SMALLEST[name.rpartition(", ")[2] if ", " in name else ""]
            found.append(
                Growth(
                    name,
                    mean,
                    min(slope(settled), slope(settled[len(settled) // 2 :])) * 3600,
                    max(share * mean, smallest),
                    settled[-1][0] - settled[0][0],
                )
            )
    return found


def slope(points: Points) -> float:
    """A second's growth."""
    thinned = points[:: len(points) // _MOST + 1]
    return median((b - a) / (later - now) for (now, a), (later, b) in combinations(thinned, 2) if later > now)
