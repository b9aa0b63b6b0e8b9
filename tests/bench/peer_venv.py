"""The venv of the peers: their packages need not agree with Callboard's."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".bench-venv"
PYTHON = FOLDER / "bin" / "python"
REQUIREMENTS = [
    "dramatiq-pg==0.12.0",
    "dramatiq<2",
    "psycopg2-binary",
    "procrastinate",
    "psycopg[binary,pool]",
]
# Written last: a venv whose set-up was interrupted has none, and is made anew.
_MARKER = FOLDER / "bench-requirements.json"


def ensure() -> Path:
    """The peers' Python; sets the venv up when it is missing or made from another list."""
    wanted = json.dumps([*REQUIREMENTS, sys.version.split()[0]])
    if _MARKER.exists() and _MARKER.read_text() == wanted and PYTHON.exists():
        return PYTHON
    print(f"setting up {FOLDER.name} for the peers ...", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(FOLDER)], check=True)
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
    subprocess.run([str(PYTHON), "-m", "pip", "install", *quiet, *REQUIREMENTS], check=True)
    _MARKER.write_text(wanted)
    return PYTHON


def versions() -> dict[str, str]:
    """Returns the names and versions of the contenders, for the head of the report."""
    names = ["dramatiq-pg", "dramatiq", "psycopg2-binary", "procrastinate", "psycopg"]
    script = f"import importlib.metadata as m, json; print(json.dumps({{n: m.version(n) for n in {names!r}}}))"
    output = subprocess.run(
        [str(PYTHON), "-c", script],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ""},
    ).stdout
    return dict(json.loads(output))
