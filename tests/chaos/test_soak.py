"""The verdict of a soak, on numbers that were made up."""

import math
import random
from xml.etree import ElementTree

from tests.chaos.soak.growth import judge_growth
from tests.chaos.soak.plots import draw_lines

_HOUR = 3600
_dice = random.Random(1)


def measured(at_start: float, an_hour: float, noise: float, seconds: int = _HOUR) -> list[tuple[float, float]]:
    """A sample every five seconds, with a peak now and then."""
    return [
        (at, at_start + an_hour * at / _HOUR + _dice.gauss(0, noise) + (30 if at % 500 == 0 else 0))
        for at in range(0, seconds, 5)
    ]


def test_a_leak_is_found_and_noise_is_not() -> None:
    columns = {
        "memory of worker 1, MB": measured(120, 12, noise=3),
        "memory of the server, MB": measured(80, 0, noise=3),
        "connections": measured(40, -10, noise=5),
        "events, bytes a row": measured(300, 5, noise=2),
        "tasks": measured(0, 50_000, noise=0),  # they are kept
    }
    assert {each.name: each.is_too_much for each in judge_growth(columns)} == {
        "memory of worker 1, MB": True,
        "memory of the server, MB": False,
        "connections": False,
        "events, bytes a row": False,
    }


def test_what_grows_while_caches_fill_is_left_out() -> None:
    points = [(at, min(at / 1000, 1.0) * 100) for at in range(0, _HOUR, 5)]
    [growth] = judge_growth({"memory of worker 1, MB": points})
    assert (growth.an_hour, growth.is_too_much) == (0, False)


def test_what_fills_up_is_not_a_leak() -> None:
    points = [(at, 50 + 10 * (1 - math.exp(-at / 900)) + _dice.gauss(0, 0.05)) for at in range(0, _HOUR, 5)]
    [growth] = judge_growth({"memory of worker 1, MB": points})
    assert not growth.is_too_much, str(growth)


def test_a_short_run_says_nothing() -> None:
    [growth] = judge_growth({"memory of worker 1, MB": measured(100, 100, noise=0, seconds=1000)})
    assert not growth.is_too_much
    assert "too short" in str(growth)


def test_each_measure_is_a_line_of_the_plot() -> None:
    columns = {"memory of worker 1, MB": measured(120, 12, 3), "a < b": measured(1, 0, 0), "once": [(0.0, 1.0)]}
    picture = ElementTree.fromstring(draw_lines("Soak", columns, [(100, 0), (9999, 0)]))
    names = [element.tag.rpartition("}")[2] for element in picture.iter()]
    assert names.count("polyline") == 2
    assert names.count("circle") == 2  # one fault, in each; the other is later than what was measured
