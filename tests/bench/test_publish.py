"""Publishing: plots that are XML, tables in the documents, and the same result when it is done again."""

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.bench.groups.registry import GROUPS
from tests.bench.groups.sizes import Sizes
from tests.bench.harness.venvs import ROOT
from tests.bench.results.publish import DOCUMENT, FILE, PLOTS, README, merge, publish, replace, table
from tests.bench.results.report import Report
from tests.bench.results.row import Row
from tests.bench.results.svg import draw

META = {"date": "2026-11-18", "machine": "2 cores", "postgres": "PostgreSQL 18"}


def make_row(group: str = "drain", name: str = "drain", **changes: object) -> Row:
    fields: dict[str, object] = {
        "group": group,
        "name": name,
        "title": "drain of <10,000> & more",
        "unit": "1/s",
        "better": "higher",
        "values": {"callboard": 6000.0, "pgqueuer": 4000.0, "oban": 2000.0},
        "ratios": {"pgqueuer": 1.5, "oban": 3.0},
        "bars": {"pgqueuer": 1.3, "oban": 3.5},
        "failed": {"procrastinate": "stalled | here\nits log"},
    }
    return Row.from_json({**fields, **changes})


def every_group() -> Report:
    """A row for each metric there is."""
    rows = [
        make_row(group, metric.name, limit=metric.limit, ratios={"limit": 0.5} if metric.limit else {}, bars={})
        for group, make in GROUPS.items()
        for metric in make(Sizes()).metrics
    ]
    return Report(META, rows)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    for name in (DOCUMENT, README):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_a_plot_is_xml_with_a_bar_for_each_value() -> None:
    tree = ElementTree.fromstring(draw("Draining <all>", [make_row(), make_row(limit=5000.0, ratios={"limit": 1.2})]))
    names = [element.tag.rpartition("}")[2] for element in tree.iter()]
    assert names.count("rect") == 6
    assert names.count("line") == 1
    texts = [element.text for element in tree.iter() if element.text]
    assert "drain of <10,000> & more, 1/s (higher is better)" in texts
    assert "4000 (1.50 x)" in texts


def test_bars_of_a_plot_are_as_long_as_their_values() -> None:
    tree = ElementTree.fromstring(draw("Draining", [make_row()]))
    widths = [float(element.attrib["width"]) for element in tree.iter() if element.tag.endswith("rect")]
    assert widths[0] / widths[1] == pytest.approx(1.5, rel=0.01)
    assert widths[0] / widths[2] == pytest.approx(3.0, rel=0.01)


def test_a_table_says_what_holds() -> None:
    (line,) = table([make_row()]).splitlines()[2:]
    assert line == (
        "| drain of <10,000> & more | 6000 1/s | pgqueuer 4000 (1.50 x); oban 2000 (3.00 x); "
        "procrastinate: stalled \\| here | 1.30 x pgqueuer: holds; 3.50 x oban: **missed** |"
    )


def test_every_group_has_its_place_and_publishing_twice_changes_nothing(root: Path) -> None:
    publish(every_group(), root)
    first = {path: path.read_text() for path in sorted(root.rglob("*")) if path.is_file()}
    assert {path.stem for path in (root / PLOTS).glob("*.svg")} == set(GROUPS)
    document = (root / DOCUMENT).read_text()
    for group in GROUPS:
        assert f"(benchmarks/{group}.svg)" in document
    publish(every_group(), root)
    assert {path: path.read_text() for path in sorted(root.rglob("*")) if path.is_file()} == first


def test_a_run_of_one_group_keeps_the_others(root: Path) -> None:
    publish(every_group(), root)
    before = (root / DOCUMENT).read_text()
    publish(Report(META, [make_row(values={"callboard": 123456.0})]), root)
    after = (root / DOCUMENT).read_text()
    assert "123456" in after
    assert "123456" not in before
    assert after.count("benchmarks/http.svg") == 1
    readme = (root / README).read_text()
    assert "123456" in readme
    assert len(readme.splitlines()) <= 150  # as tests/test_readme.py wants it
    assert len(json.loads((root / FILE).read_text())["rows"]) == len(every_group().rows)


def test_of_several_runs_the_last_one_wins() -> None:
    old, new = make_row(values={"callboard": 1.0}), make_row(values={"callboard": 2.0})
    other = make_row("submit", "submit_single")
    merged = merge([Report(META, [old]), Report(META, [new, other])])
    assert [(row.name, row.callboard) for row in merged.rows] == [("submit_single", 6000.0), ("drain", 2.0)]


def test_a_document_without_the_place_is_refused() -> None:
    with pytest.raises(ValueError, match="0 places for 'drain'"):
        replace("text", "drain", "table")
