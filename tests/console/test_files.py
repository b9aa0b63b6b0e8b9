"""The files of the console, and how they are served."""

import posixpath
import re
import sys
from pathlib import Path

import pytest

from taskapi.api import minify
from taskapi.resources import console

FOLDER = Path(console.__file__).parents[1] / "console"
TEXT = re.compile(r"""`[^`]*`|"[^"\n]*"|'[^'\n]*'""")
IMPORT = re.compile(r'(?:import|export)\s*(?:\{([^}]*)\}|\*)?\s*(?:from)?\s*"(\.[^"]+)"')
EXPORT = re.compile(r"export (?:async )?(?:const|function\*?|class) (\w+)")
COMMENT = re.compile(r"/\*.*?\*/|(?<!:)//[^\n]*", re.DOTALL)
WORDS = re.compile(r'"([A-Z][a-z]+(?: [\w.,:]+)+)"')
MOST = 250_000  # bytes of all files together
ALIEN = re.compile(r"""\b(?:https?|wss?):|["'`(]//""")
SVG = "http://www.w3.org/2000/svg"  # a name, not an address


def read_served() -> dict[str, str]:
    return {name: file.content.decode() for name, file in console.read_console().files.items()}


def read_sources() -> dict[str, str]:
    return {name: (FOLDER / name).read_text() for name in console.read_console().files}


def test_all_files_together_are_small() -> None:
    served = console.read_console()
    assert len(served.page) + sum(len(file.content) for file in served.files.values()) < MOST


def test_they_are_served_minified_with_the_same_names_and_texts() -> None:
    exports = texts = 0
    for name, served in read_served().items():
        source = (FOLDER / name).read_text()
        assert len(served) <= len(source)
        if not name.endswith(".js"):
            continue
        assert "/**" not in served
        for exported in EXPORT.findall(source):
            exports += 1
            assert re.search(rf"\b{exported}\b", served), f"{name}: {exported}"
        for text in WORDS.findall(COMMENT.sub("", source)):
            texts += 1
            assert text in served, f"{name}: {text}"
    assert exports > 100
    assert texts > 100


def test_without_the_minifier_they_are_served_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"a.js": "const  one  =  1;\n", "b.svg": "<svg/>"}
    types = {".js": "text/javascript"}
    assert minify.minify(files, types) == {"a.js": "const one=1", "b.svg": "<svg/>"}
    monkeypatch.setattr(sys, "executable", sys._base_executable)  # type: ignore[attr-defined]  # without our packages
    assert minify.minify(files, types) == files
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert minify.minify(files, types) == files


def test_no_file_names_another_origin() -> None:
    files = read_served() | {"index.html": console.read_console().page.decode()}
    found = {name: ALIEN.findall(text.replace(SVG, "")) for name, text in files.items()}
    assert {name: each for name, each in found.items() if each} == {}


def find_exports(files: dict[str, str], name: str) -> set[str]:
    found = set(EXPORT.findall(files[name]))
    for _, path in re.findall(r'export(\s*)\*\s*from\s*"([^"]+)"', files[name]):
        found |= find_exports(files, posixpath.normpath(posixpath.join(posixpath.dirname(name), path)))
    return found


def test_what_scripts_import_is_there() -> None:
    """A browser would show no page at all otherwise; the tests of the pages do not open every dialog."""
    files = read_sources()
    for name, text in files.items():
        for names, path in IMPORT.findall(text) if name.endswith(".js") else []:
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
            assert target in files, f"{name} imports {path}"
            wanted = {each.split(" as ")[0].strip() for each in names.split(",") if each.strip()}
            assert wanted <= find_exports(files, target), f"{name} imports {path}"


def test_all_pages_are_listed_and_the_page_loads_what_there_is() -> None:
    files = read_sources()
    listed = set(re.findall(r'file: ?"([^"]+)"', files["pages.js"]))
    assert {Path(name).stem for name in files if re.fullmatch(r"pages/[^/]+", name)} == listed
    links = re.findall(r'(?:href|src)="?console/\w+/([^">]+)', console.read_console().page.decode())
    assert "app.js" in links
    assert set(links) <= set(files)
    assert {name for name in files if name.endswith(".css")} <= set(links)


def test_styles_are_of_classes_that_scripts_set() -> None:
    files = read_sources()
    scripts = " ".join(text for name, text in files.items() if name.endswith(".js"))
    texts = " ".join(TEXT.findall(scripts))
    words = set(re.findall(r"[a-zA-Z][\w-]*", texts))
    words |= set(re.findall(r"\b\w+(?=:)", scripts))  # names of statuses are keys as well
    prefixes = ("s-", "json-", "span-")  # what follows is put in by a template
    for name, text in files.items():
        if not name.endswith(".css"):
            continue
        selectors = re.sub(r"\{[^{}]*\}", " ", text)
        for css_class in set(re.findall(r"\.([a-zA-Z][\w-]*)", selectors)):
            prefix = next((each for each in prefixes if css_class.startswith(each)), "")
            rest = css_class.removeprefix(prefix)
            is_set = css_class in words or (prefix and (rest in words or rest.isdigit()))
            assert is_set, f"{name}: nothing has the class {css_class}"
