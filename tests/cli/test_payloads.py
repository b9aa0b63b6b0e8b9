"""Reading payloads from the command line."""

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from deploy.cli.exits import BAD_INPUT, Failure
from deploy.cli.payloads import read_payload


def test_json_file_and_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "payload.json"
    file.write_text('{"prompt": "file"}')
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b'{"prompt": "stdin"}')))
    assert read_payload('{"prompt": "text"}', []) == {"prompt": "text"}
    assert read_payload(f"@{file}", []) == {"prompt": "file"}
    assert read_payload("-", []) == {"prompt": "stdin"}
    assert read_payload(None, []) == {}


def test_fields_are_set_over_the_payload(tmp_path: Path) -> None:
    file = tmp_path / "article.txt"
    file.write_text("Two lines.\nOf text.")
    payload = read_payload(
        '{"prompt": "old", "params": {"width": 64}}',
        ["prompt=a = b", "params.steps=12", "params.seed=null", f"content=@{file}", "deep.er.still=[1, 2]",
         'number="7"', "odd=NaN"],
    )  # fmt: skip
    assert payload == {
        "prompt": "a = b",
        "params": {"width": 64, "steps": 12, "seed": None},
        "content": "Two lines.\nOf text.",
        "deep": {"er": {"still": [1, 2]}},
        "number": "7",
        "odd": "NaN",
    }


@pytest.mark.parametrize(
    ("argument", "assignments", "complaint"),
    [
        ("{", [], "not valid JSON"),
        ('{"a": NaN}', [], "NaN"),
        ('{"a": "\\u0000"}', [], "u0000"),
        ("[" * 70 + "]" * 70, [], "nested deeper"),
        ("[1]", [], "must be a JSON object"),
        ("@/does/not/exist.json", [], "No such file"),
        (None, ["prompt"], "key=value"),
        (None, ["a..b=1"], "key=value"),
        ('{"a": 1}', ["a.b=1"], "not an object"),
        (None, ["a=@/does/not/exist.txt"], "No such file"),
    ],
)
def test_bad_payloads_are_refused(argument: str | None, assignments: list[str], complaint: str) -> None:
    with pytest.raises(Failure, match=complaint) as refused:
        read_payload(argument, assignments)
    assert refused.value.exit_code == BAD_INPUT
