"""README says what is so."""

import re
from pathlib import Path

from state.settings import Settings
from state.transitions import MOVES

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_moves_are_those_of_the_code() -> None:
    block = README.split("<!-- moves:")[1].split("```")[1]
    said = {}
    for line in block.strip().splitlines():
        before, after = line.split("->")
        said[before.strip()] = set() if "(nothing)" in after else set(after.split())
    assert said == {before: set(after) for before, after in MOVES.items()}


def test_every_setting_is_in_the_table_with_its_default() -> None:
    rows = dict(re.findall(r"(?m)^\| (CALLBOARD_\w+) \| (.*?) \|", README))
    expected = {}
    for name, field in Settings.model_fields.items():
        default = field.default
        text = "" if default is None else ",".join(default) if isinstance(default, list) else str(default)
        expected[f"CALLBOARD_{name.upper()}"] = re.sub(r"\.0$", "", text)
    assert rows == expected


def test_http_is_not_a_package() -> None:
    import http

    assert not (ROOT / "http" / "__init__.py").exists()
    assert not (ROOT / "tests" / "http").exists()
    assert ROOT not in Path(http.__file__).parents


def test_the_commands_of_readme_exist() -> None:
    targets = re.findall(r"(?m)^(\w+):", (ROOT / "Makefile").read_text())
    assert set(re.findall(r"(?m)^make (\w+)", README)) <= set(targets)
