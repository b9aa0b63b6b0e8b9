"""Makes the console's files smaller: without comments, indentation and long local names.

The minifier is a library in Go, whose threads and signal handlers have no place in a server. So a process of its own
runs it, once for each server; it is this file as a script. Where the minifier is not installed (some machines have no
wheel of it), files are served as they are."""

import json
import subprocess
import sys
from collections.abc import Mapping

_SECONDS = 30  # for a machine under load; it takes a tenth of a second


def minify(files: Mapping[str, str], types: Mapping[str, str]) -> dict[str, str]:
    """Returns the files by their names. `types`: the media types of those that are to be smaller, by suffix."""
    asked = {name: (types[suffix], text) for name, text in files.items() if (suffix := _suffix(name)) in types}
    try:
        # Isolated: it imports nothing from the folder in which the server was started.
        command = [sys.executable, "-I", __file__]
        given = json.dumps(asked)
        answer = subprocess.run(command, check=True, input=given, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return dict(files)
    return {**files, **json.loads(answer.stdout)}


def _suffix(name: str) -> str:
    return name[name.rfind(".") :]


def _main() -> int:
    try:
        import minify as minifier
    except ImportError:
        return 1
    asked = json.load(sys.stdin)
    json.dump({name: minifier.string(media_type, text) for name, (media_type, text) in asked.items()}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(_main())
