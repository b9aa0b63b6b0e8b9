"""The files of the console as they are served."""

import re
import sys
from pathlib import Path

import pytest

from taskapi.api import minify
from taskapi.resources import console

FOLDER = Path(console.__file__).parents[1] / "console"
MOST = 250_000  # bytes, of all files together
ELSEWHERE = re.compile(r"""["'(`](?:https?:)?//[^\s"'`)]+""")
SVG = "http://www.w3.org/2000/svg"  # a name, not an address
EXPORTED = re.compile(r"^export (?:default )?(?:async )?(?:function\*?|class|const|let) (\w+)", re.MULTILINE)
WORDS = re.compile(r'"([A-Z][a-z]+(?: [\w.,:]+)+)"')


def read_served() -> dict[str, str]:
    return {name: file.content.decode() for name, file in console.read_console().files.items()}


def test_all_together_are_small() -> None:
    size = sum(len(file.content) for file in console.read_console().files.values()) + len(console.read_console().page)
    assert size < MOST


def test_they_are_served_minified_with_the_same_names_and_texts() -> None:
    exports = texts = 0
    for name, served in read_served().items():
        source = (FOLDER / name).read_text()
        assert len(served) <= len(source)
        if not name.endswith(".js"):
            continue
        assert "/**" not in served
        for exported in EXPORTED.findall(source):
            exports += 1
            assert re.search(rf"\b{exported}\b", served), f"{name}: {exported}"
        for text in WORDS.findall(source):
            texts += 1
            assert text in served, f"{name}: {text}"
    assert exports > 100
    assert texts > 100


def test_they_name_no_other_origin() -> None:
    for name, served in read_served().items():
        assert [found for found in ELSEWHERE.findall(served) if SVG not in found] == [], name


def test_without_the_minifier_they_are_served_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"a.js": "const  one  =  1;\n", "b.svg": "<svg/>"}
    types = {".js": "text/javascript"}
    assert minify.minify(files, types) == {"a.js": "const one=1", "b.svg": "<svg/>"}
    monkeypatch.setattr(sys, "executable", sys._base_executable)  # type: ignore[attr-defined]  # without our packages
    assert minify.minify(files, types) == files
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert minify.minify(files, types) == files
