"""Callboard as a contender: `dramatiq actors`, as people start it."""

import sys
from pathlib import Path

from tests.bench.contender import PROCESSES, THREADS, Contender
from tests.bench.processes import Children
from tests.bench.side import Side


class CallboardSide(Side):
    def claim_ms(self, rows: dict[str, int]) -> float:
        self.drive("fill_table", rows)
        self.settle()
        return float(self.drive("claim_ms"))


def contender(children: Children, folder: Path, warm_seconds: float) -> Contender:
    app = "tests.bench.callboard_app"
    return CallboardSide(
        name="callboard",
        app=app,
        python=Path(sys.executable),
        workers=[[sys.executable, "-m", "dramatiq", "actors", "-p", str(PROCESSES), "-t", str(THREADS)]],
        unfinished="select count(*) from callboard.tasks where status <> 'completed'",
        finished="select count(*) from callboard.tasks where status = 'completed'",
        children=children,
        folder=folder,
        url_variable="CALLBOARD_DATABASE_URL",
        env={"CALLBOARD_ACTORS": f"actors,{app}"},
        warm_seconds=warm_seconds,
    )
