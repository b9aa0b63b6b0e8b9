"""The page about fault runs names what there is."""

import re

from deploy.prove.schedule import SAFE
from deploy.prove.verdict import KINDS
from tests.chaos.storm.schedule import HARM
from tests.docs.documents import read, read_tables

PAGE = read("docs/proof.md")


def _names(cell: str) -> list[str]:
    return [name.strip() for name in cell.split(",")]


def test_every_fault_is_there() -> None:
    rows = read_tables(PAGE, "| fault | what happens | `callboard prove` |")
    said = {name: safe == "yes" for names, _, safe in rows for name in _names(names)}
    assert said == {**dict.fromkeys(SAFE, True), **dict.fromkeys([*HARM, "fill_disk"], False)}


def test_every_violation_is_there_with_its_place_in_the_last_line() -> None:
    rows = read_tables(PAGE, "| found as | in the last line | what was promised |")
    said = {name: group or "other" for names, group, _ in rows for name in _names(names)}
    assert said == {kind: group for group, kinds in KINDS.items() for kind in kinds}


def test_the_last_line_is_as_shown() -> None:
    assert re.search(r"(?m)^faults \d+ accepted \d+ lost 0 doubled 0 over_limit 0 missed_events 0$", PAGE)
