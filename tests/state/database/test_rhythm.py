"""A rhythm: some times at once after a pause, and never more often than its gap says on average."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from state.database import rhythm
from state.database.rhythm import AT_ONCE, Rhythm

GAP = 0.02


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    now = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(rhythm, "time", SimpleNamespace(monotonic=lambda: now.now))
    return now


def play(beat: Rhythm, time: SimpleNamespace, seconds: float, step: float = 0.001) -> list[float]:
    """Does it whenever it may be done; returns the moments."""
    done, end = [], time.now + seconds
    while time.now < end:
        if beat.wait() <= 0:
            beat.note()
            done.append(time.now)
        else:
            time.now += step
    return done


def test_a_few_at_once_and_then_one_in_each_gap(time: SimpleNamespace) -> None:
    moments = play(Rhythm(GAP), time, 1.0)
    assert moments[:AT_ONCE] == [1000.0] * AT_ONCE
    assert len(moments) == pytest.approx(AT_ONCE + 1.0 / GAP, abs=2)
    assert (
        min(later - earlier for earlier, later in zip(moments[AT_ONCE:], moments[AT_ONCE + 1 :], strict=False))
        > 0.9 * GAP
    )


def test_a_pause_gives_back_only_a_few(time: SimpleNamespace) -> None:
    beat = Rhythm(GAP)
    play(beat, time, 1.0)
    time.now += 3600
    assert len(play(beat, time, GAP / 2)) == AT_ONCE
