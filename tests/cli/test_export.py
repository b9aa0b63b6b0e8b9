"""`callboard export`: JSON Lines and Parquet, and where it ended."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deploy.cli.exits import Failure
from deploy.cli.parquet import ParquetFile
from tests.cli.command import callboard, environment, submit, succeed


@pytest.fixture
def ids(database_url: str) -> list[str]:
    found = [submit("note")]
    found += [submit("note", json.dumps({"text": f"\u2028 {number}"}), "--tenant", "a") for number in range(2)]
    succeed("cancel", found[1])
    return found


def test_lines_and_where_to_go_on(ids: list[str]) -> None:
    done = callboard("export", "--since", "2020-01-01")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.split("\n") if line]
    assert [line["task_id"] for line in lines] == ids
    assert [line["payload"]["text"] for line in lines] == ["", "\u2028 0", "\u2028 1"]
    assert [event["data"]["to"] for event in lines[1]["events"]] == ["queued", "canceled"]
    assert done.stderr == f"3 tasks. The last one: {ids[2]}\n"
    rest = callboard("export", "--after", ids[0], "--tenant", "a")
    assert [json.loads(line)["task_id"] for line in rest.stdout.split("\n") if line] == ids[1:]
    assert callboard("export", "--until", "2020-01-01").stdout == ""
    assert callboard("export", "--after", "tq_1").returncode == 3


def read_parquet(data: bytes) -> list[dict[str, Any]]:
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    rows: list[dict[str, Any]] = parquet.read_table(io.BytesIO(data)).to_pylist()
    return rows


def test_parquet(ids: list[str], tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    command = [sys.executable, "-c", "from deploy.cli import main; main()", "export", "--format", "parquet"]
    done = subprocess.run(command, env=environment(), capture_output=True)
    assert done.returncode == 0, done.stderr
    rows = read_parquet(done.stdout)
    assert [row["task_id"] for row in rows] == ids
    assert (rows[1]["status"], rows[1]["tenant"], rows[1]["started_at"]) == ("canceled", "a", None)
    assert rows[1]["created_at"].tzinfo is not None
    assert json.loads(rows[1]["payload"])["text"] == "\u2028 0"
    assert [event["n"] for event in json.loads(rows[1]["events"])] == [1, 2]


def test_an_interrupted_file_has_what_was_added(ids: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("deploy.cli.parquet._ROWS", 2)
    lines = [line for line in callboard("export").stdout.split("\n") if line]
    out = io.BytesIO()
    with pytest.raises(KeyboardInterrupt), ParquetFile(out) as file:  # noqa: PT012
        for line in lines:
            file.add(line)
        raise KeyboardInterrupt
    assert [row["task_id"] for row in read_parquet(out.getvalue())] == ids


def test_without_pyarrow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(Failure, match=r"pip install 'callboard\[parquet\]'"):
        ParquetFile(io.BytesIO())
