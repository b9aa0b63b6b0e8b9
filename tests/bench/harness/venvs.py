"""The virtual environments of the peers: their packages need not agree with Callboard's, nor their Python."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.bench.harness.errors import Unavailable

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / ".bench-venv"
# Names a Python that has everything already; then nothing is installed.
GIVEN_VARIABLE = "BENCH_PEER_PYTHON"


@dataclass(frozen=True)
class Venv:
    name: str
    requirements: tuple[str, ...]
    reported: tuple[str, ...]  # packages whose versions the report names
    python: tuple[int, int] = (3, 11)

    @property
    def folder(self) -> Path:
        return FOLDER / self.name


PEERS = Venv(
    "peers",
    (
        *("dramatiq-pg==0.12.0", "dramatiq[redis]<2", "psycopg2-binary"),
        *("procrastinate", "psycopg[binary,pool]", "pgqueuer", "asyncpg", "celery[redis]"),
        *("starlette", "uvicorn", "uvloop", "httptools"),  # of the bare servers
    ),
    ("dramatiq-pg", "dramatiq", "procrastinate", "pgqueuer", "celery", "redis", "starlette", "uvicorn"),
)
OBAN = Venv("oban", ("oban",), ("oban",), (3, 12))


def python_of(venv: Venv) -> Path:
    """The Python of a set-up venv, which is set up when it is missing or made from another list."""
    if given := os.environ.get(GIVEN_VARIABLE):
        return Path(given)
    return _ensure(venv)


@cache
def _ensure(venv: Venv) -> Path:
    base = find_python(venv.python)
    if base is None:
        raise Unavailable(f"needs Python {venv.python[0]}.{venv.python[1]} or newer, and there is none here")
    python = venv.folder / "bin" / "python"
    marker = venv.folder / "requirements.json"  # written last: an interrupted set-up has none, and is made anew
    wanted = json.dumps([*venv.requirements, base])
    if marker.exists() and marker.read_text() == wanted and python.exists():
        return python
    print(f"installing {', '.join(venv.requirements)} into {venv.folder.relative_to(ROOT)} ...", flush=True)
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
    try:
        subprocess.run([base, "-m", "venv", "--clear", str(venv.folder)], check=True)
        subprocess.run(
            [str(python), "-m", "pip", "install", *quiet, *venv.requirements],
            check=True,
            stderr=subprocess.PIPE,
            text=True,
        )
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or "").strip().splitlines()
        raise Unavailable(f"cannot be installed: {lines[-1] if lines else error}") from error
    marker.write_text(wanted)
    return python


def find_python(least: tuple[int, int]) -> str | None:
    """Callboard's own Python if it is new enough: all contenders run on the same one where they can."""
    if sys.version_info >= least:
        return sys.executable
    names = [f"python3.{minor}" for minor in range(least[1], least[1] + 4)]
    found = [path for name in names if (path := shutil.which(name))]
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found += [str(path) for name in names for path in sorted(versions.glob(f"{name[6:]}.*/bin/python"))]
    return next((path for path in found if _works(path, least)), None)


def _works(python: str, least: tuple[int, int]) -> bool:
    """A shim of pyenv exists for versions that it refuses to run."""
    script = f"import ensurepip, sys, venv; sys.exit(sys.version_info < {least})"
    return subprocess.run([python, "-c", script], capture_output=True).returncode == 0


def versions(venv: Venv) -> dict[str, str]:
    """The versions of the reported packages that are installed in the venv."""
    script = (
        "import importlib.metadata as m, json\n"
        "def find(n):\n    try: return m.version(n)\n    except m.PackageNotFoundError: return None\n"
        f"print(json.dumps({{n: v for n in {venv.reported!r} if (v := find(n))}}))"
    )
    output = subprocess.run(
        [str(python_of(venv)), "-c", script],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ""},
    ).stdout
    return dict(json.loads(output))
