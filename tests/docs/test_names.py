"""Files, links, commands and make targets that documents name exist."""

import re
from pathlib import Path

import pytest

from tests.docs.documents import DOCUMENTS, ROOT, find_blocks, read, relative

_FOLDERS = "actors|broker|deploy|docs|examples|http|providers|state|tests"
_PATH = re.compile(rf"(?<![\w/.$-])((?:{_FOLDERS})/[\w./<>*-]*|\.ci/\w+|(?:pyproject\.toml|Makefile|[A-Z]+\.md)\b)")
_LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
_HEADING = re.compile(r"(?m)^#+ (.+)$")
_FENCED = re.compile(r"(?ms)^```.*?^```$")


@pytest.mark.parametrize("document", DOCUMENTS, ids=relative)
def test_named_files_exist(document: Path) -> None:
    named = {found.rstrip(".") for found in _PATH.findall(document.read_text())}
    assert [path for path in sorted(named) if not _exists(path)] == []


def _exists(path: str) -> bool:
    """`<name>` stands for any name."""
    return any(ROOT.glob(re.sub(r"<\w+>", "*", path).rstrip("/")))


@pytest.mark.parametrize("document", DOCUMENTS, ids=relative)
def test_links_lead_somewhere(document: Path) -> None:
    text = _FENCED.sub("", document.read_text())
    links = [link for link in _LINK.findall(text) if "://" not in link]
    assert [link for link in links if not _leads_somewhere(document, link)] == []


def _leads_somewhere(document: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (document.parent / path).resolve() if path else document
    return target.exists() and (not anchor or anchor in _anchors(target))


def _anchors(document: Path) -> set[str]:
    """As GitHub makes them."""
    headings = _HEADING.findall(_FENCED.sub("", document.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=relative)
def test_make_targets_exist(document: Path) -> None:
    targets = re.findall(r"(?m)^(\w+):", read("Makefile"))
    assert set(re.findall(r"\bmake (\w+)", _code_of(document))) <= set(targets)


@pytest.mark.parametrize("document", DOCUMENTS, ids=relative)
def test_commands_exist(document: Path) -> None:
    from deploy.cli.commands import COMMANDS, GROUPS

    used = re.findall(r"\bcallboard (\w[\w-]*)", _code_of(document))
    assert set(used) <= COMMANDS.keys() | GROUPS.keys()


def _code_of(document: Path) -> str:
    """Shell blocks and inline code."""
    shell = [block.text for block in find_blocks(document) if block.language in ("sh", "")]
    inline = re.findall(r"`([^`\n]+)`", _FENCED.sub("", document.read_text()))
    return "\n".join([*shell, *inline])
