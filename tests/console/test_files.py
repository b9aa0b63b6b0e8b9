"""The files of the console as they are served."""

import re
from pathlib import Path

from taskapi.resources import console

FOLDER = Path(console.__file__).parents[1] / "console"
TEMPLATE = re.compile(r"`[^`]*`")


def read_templates(name: str, text: str) -> list[str]:
    """Returns the template literals of a script."""
    found = TEMPLATE.findall(text)
    # What shortens the scripts takes the inner one of two for code, and drops its spaces.
    assert [each for each in found if re.search(r"\$\{[^}]*$", each)] == [], f"{name}: a template inside a template"
    return found


def test_files_are_served_shorter_and_with_the_same_texts() -> None:
    for name, file in console.read_console().files.items():
        source = (FOLDER / name).read_text()
        served = file.content.decode()
        assert len(served) <= len(source)
        if name.endswith(".js"):
            code = re.sub(r"^ *(/\*\*|\*).*$|(^| )// .*$", "", source, flags=re.MULTILINE)
            assert read_templates(name, served) == read_templates(name, code)
