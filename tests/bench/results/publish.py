"""`python -m tests.bench.results.publish [RESULTS.json ...]`: writes a run into the documents.

From build/bench.json, or from several files (of groups that were run apart; the last one wins for a row), it writes
docs/benchmarks.json, a plot for each group, and the tables between the marks of docs/benchmarks.md and README.md. Rows
that were published before and not measured again stay.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench.groups.registry import GROUPS
from tests.bench.groups.sizes import Sizes
from tests.bench.harness.venvs import ROOT
from tests.bench.results.metric import BEST
from tests.bench.results.report import Report, number
from tests.bench.results.row import CALLBOARD, LIMIT, Row, first_line
from tests.bench.results.svg import draw

FILE = "docs/benchmarks.json"
PLOTS = "docs/benchmarks"
DOCUMENT = "docs/benchmarks.md"
README = "README.md"
# What README, which is short, shows.
IN_README = ("submit_single", "drain", "async_drain", "start_p50", "recovery", "http_post")


def merge(reports: Sequence[Report]) -> Report:
    """The rows of all, in the order of the groups."""
    rows = {row.name: row for report in reports for row in report.rows}
    order = list(GROUPS)
    return Report(reports[-1].meta, sorted(rows.values(), key=lambda row: order.index(row.group)))


def publish(found: Report, root: Path) -> Report:
    """Returns all that is published now."""
    report = merge([*_read([root / FILE] if (root / FILE).exists() else []), found])
    plots = root / PLOTS
    plots.mkdir(parents=True, exist_ok=True)
    (root / FILE).write_text(json.dumps(report.as_json(), indent=1) + "\n")
    for group in GROUPS:
        if rows := [row for row in report.rows if row.group == group]:
            (plots / f"{group}.svg").write_text(draw(GROUPS[group](Sizes()).title, rows))
    for name, fill in ((DOCUMENT, fill_document), (README, fill_readme)):
        path = root / name
        path.write_text(fill(path.read_text(), report))
    return report


def _read(paths: Sequence[Path]) -> list[Report]:
    return [Report.from_json(json.loads(path.read_text())) for path in paths]


def fill_document(text: str, report: Report) -> str:
    text = replace(text, "run", "\n".join(f"- {name}: {value}" for name, value in report.meta.items()))
    for group in GROUPS:
        rows = [row for row in report.rows if row.group == group]
        if rows:
            plot = f"![{GROUPS[group](Sizes()).title}](benchmarks/{group}.svg)"
            text = replace(text, group, f"{plot}\n\n{table(rows)}")
    return text


def fill_readme(text: str, report: Report) -> str:
    rows = [row for row in report.rows if row.name in IN_README]
    said = f"Measured on {report.meta['date']}: {report.meta['machine']}, {report.meta['postgres']}."
    return replace(text, "summary", f"{said}\n\n{table(rows)}")


def replace(text: str, name: str, content: str) -> str:
    """What is between `<!-- bench: NAME -->` and `<!-- /bench -->`."""
    pattern = re.compile(rf"(<!-- bench: {name} -->\n).*?(<!-- /bench -->)", re.DOTALL)
    changed, count = pattern.subn(lambda found: f"{found[1]}{content}\n{found[2]}", text)
    if count != 1:
        raise ValueError(f"there are {count} places for {name!r}, there must be one")
    return changed


def table(rows: Sequence[Row]) -> str:
    head = "| measure | Callboard | beside it (ratio) | must hold |\n|---|---|---|---|"
    return "\n".join([head, *(_line(row) for row in rows)])


def _line(row: Row) -> str:
    ours = "failed" if row.callboard is None else f"{number(row.callboard)} {row.unit}"
    note = f"; {row.note}" if row.note else ""
    return f"| {_cell(row.title + note)} | {ours} | {'; '.join(_peers(row))} | {'; '.join(_bars(row))} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _peers(row: Row) -> Iterator[str]:
    for peer in row.peers:
        ratio = f" ({row.ratios[peer]:.2f} x)" if peer in row.ratios else ""
        yield f"{peer} {number(row.values[peer])}{ratio}"
    for name, why in {**row.failed, **row.skipped}.items():
        if name != CALLBOARD:
            yield f"{name}: {_cell(first_line(why))}"


def _bars(row: Row) -> Iterator[str]:
    for peer, bar in row.bars.items():
        judged = [ratio for name, ratio in row.ratios.items() if name == peer or (peer == BEST and name != LIMIT)]
        if judged:
            name = "the best peer" if peer == BEST else peer
            yield f"{bar:.2f} x {name}: {'holds' if min(judged) >= bar else '**missed**'}"
    if row.limit is not None and LIMIT in row.ratios:
        sign = "≥" if row.better == "higher" else "≤"
        yield f"{sign} {number(row.limit)} {row.unit}: {'holds' if row.ratios[LIMIT] >= 1 else '**missed**'}"


def main(files: Sequence[str]) -> None:
    paths = [Path(file) for file in files] or [ROOT / "build" / "bench.json"]
    report = publish(merge(_read(paths)), ROOT)
    print(f"published {len(report.rows)} rows: {FILE}, {PLOTS}/*.svg, {DOCUMENT}, {README}")


if __name__ == "__main__":
    main(sys.argv[1:])
