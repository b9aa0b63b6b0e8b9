"""Runs the commands and queries of documents: the blocks after `<!-- run -->`, against a real `callboard up`. The
blocks of one document are one session, in a folder with the modules that documents write (`<!-- file: name.py -->`)."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from state.database.embedded.postmaster import Postmaster
from tests.cli.board import Board
from tests.docs.documents import DOCUMENTS, Block, find_blocks, relative

_BLOCKS = {document: list(find_blocks(document)) for document in DOCUMENTS}
_SESSIONS = {
    document: [block for block in blocks if block.mark == "run" and block.language == "sh"]
    for document, blocks in _BLOCKS.items()
}
_QUERIES = [block for blocks in _BLOCKS.values() for block in blocks if block.mark == "run" and block.language == "sql"]


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the modules that documents write."""
    folder = tmp_path_factory.mktemp("modules")
    for block in (block for blocks in _BLOCKS.values() for block in blocks):
        if block.mark.startswith("file: "):
            with (folder / block.mark.removeprefix("file: ")).open("a") as file:
                file.write(block.text)
    return folder


@pytest.fixture(scope="module")
def board(modules: Path) -> Iterator[Board]:
    names = [file.stem for file in modules.glob("*.py") if not file.stem.startswith(("test_", "conftest"))]
    settings = {"CALLBOARD_ACTORS": ",".join(["actors", *names]), "PYTHONPATH": modules, "CALLBOARD_COMMANDS": "1"}
    # Not in pytest's own folder: each start of pytest closes that to all others, and Postgres does not run as root.
    with tempfile.TemporaryDirectory(prefix="callboard-docs-", ignore_cleanup_errors=True) as folder:
        running = Board(Path(folder), **settings)
        try:
            yield running.ready()
        finally:
            running.destroy()


@pytest.mark.parametrize("document", [each for each, blocks in _SESSIONS.items() if blocks], ids=relative)
def test_the_commands_of_a_document(document: Path, board: Board, modules: Path) -> None:
    script = "\n".join(f"echo '--- line {block.line}' >&2\n{block.text}" for block in _SESSIONS[document])
    missing = [name for name in ("curl", "jq") if re.search(rf"\b{name}\b", script) and not shutil.which(name)]
    if missing:
        pytest.skip(f"there is no {missing[0]}")
    script = script.replace("localhost:8000", board.announcement["url"].removeprefix("http://"))
    settings = {name: str(value) for name, value in board.environment.items() if value is not None}
    path = os.pathsep.join([f"{sys.prefix}/bin", os.environ["PATH"]])
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=modules,
        env={"PATH": path, **settings},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"


@pytest.mark.parametrize("block", _QUERIES, ids=lambda block: f"{relative(block.document)}:{block.line}")
def test_the_queries_of_a_document(block: Block, board: Board) -> None:
    postmaster = Postmaster.read(board.data_dir / "postgres")
    assert postmaster is not None
    with psycopg.connect(postmaster.url("callboard_owner"), autocommit=True) as connection:
        for query in block.text.split(";\n"):
            if query.strip():
                connection.execute(query.encode())
