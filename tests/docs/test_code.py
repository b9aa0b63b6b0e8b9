"""Python in documents can be run, and tests run the actors that they describe."""

from pathlib import Path

import pytest

from tests.docs.documents import DOCUMENTS, Block, find_blocks, relative

_BLOCKS = [block for document in DOCUMENTS for block in find_blocks(document) if block.language == "python"]


@pytest.mark.parametrize("block", _BLOCKS, ids=lambda block: f"{relative(block.document)}:{block.line}")
def test_python_compiles(block: Block) -> None:
    compile("\n" * (block.line - 1) + block.text, str(block.document), "exec")


def test_there_is_python() -> None:
    assert {Path(block.document).name for block in _BLOCKS} >= {"writing-actors.md"}
