"""README is the front page: what other tests and CI read in it is there. tests/docs checks the rest."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()

_LONGEST = 150  # lines: what is longer belongs into docs/


def test_it_is_a_front_page() -> None:
    assert len(README.splitlines()) <= _LONGEST


def test_it_begins_with_one_command() -> None:
    first, *_ = re.findall(r"(?ms)^```\w*\n(.*?)^```$", README)
    assert first == "make up\n"


def test_its_commands_exist() -> None:
    targets = re.findall(r"(?m)^(\w+):", (ROOT / "Makefile").read_text())
    commands = re.findall(r"(?m)^make (\w+)", README)
    assert "test" in commands
    assert set(commands) <= set(targets)


def test_it_leads_to_every_document() -> None:
    linked = set(re.findall(r"\]\(([\w/-]+\.md)\)", README))
    documents = {str(file.relative_to(ROOT)) for file in (ROOT / "docs").glob("*.md")}
    assert documents | {"CONTRIBUTING.md", "CHANGELOG.md"} <= linked


def test_it_names_every_folder() -> None:
    named = {name.split("/")[0] for name in re.findall(r"(?m)^\| `([\w/]+)/` \|", README)}
    folders = {file.parent.name for file in ROOT.glob("*/__init__.py")} | {"http"}
    assert folders <= named


def test_http_is_not_a_package() -> None:
    import http

    assert not (ROOT / "http" / "__init__.py").exists()
    assert not (ROOT / "tests" / "http").exists()
    assert ROOT not in Path(http.__file__).parents
