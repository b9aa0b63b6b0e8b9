"""GET /: the console, a page for people. Its files are in the folder console/. They are served minified, below a
path that has their digest, so a browser keeps them until a release changes one; nothing is loaded from elsewhere."""

import hashlib
import posixpath
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from taskapi.api.minify import minify
from taskapi.api.operation import Operation
from taskapi.api.problems import Problem

_FOLDER = Path(__file__).parents[1] / "console"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_MINIFIED = {".js": "text/javascript", ".css": "text/css"}
_PATH = "/console/{digest}/{path:path}"
_FIRST = ("app.js", "pages/overview.js")
_IMPORT = re.compile(r'\b(?:from|import)\s*"([^"]+)"')
# Trusted types: no script of ours can turn text into markup, so what tasks hold is shown as text.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


class File(NamedTuple):
    content: bytes
    media_type: str


class Console(NamedTuple):
    page: bytes
    files: Mapping[str, File]
    digest: str


@cache
def read_console() -> Console:
    """Reads all files; the first request does it."""
    sources = {
        path.relative_to(_FOLDER).as_posix(): path.read_text()
        for path in sorted(_FOLDER.rglob("*"))
        if path.suffix in _TYPES
    }
    contents = {name: text.encode() for name, text in minify(sources, _MINIFIED).items()}
    template = (_FOLDER / "index.html").read_text()
    digest = hashlib.sha256(repr(sorted(contents.items())).encode()).hexdigest()[:8]
    files = {name: File(content, _TYPES[Path(name).suffix]) for name, content in contents.items()}
    base = f"console/{digest}"
    styles = [name for name in files if name.endswith(".css")]
    links = "\n".join(_link(base, name) for name in [*styles, *_find_first(contents)])
    page = template.replace("<!-- LINKS -->", links).replace("FILES/", f"{base}/")
    return Console(page.encode(), files, digest)


def _find_first(contents: Mapping[str, bytes]) -> list[str]:
    """Returns the scripts of the first page. They are loaded at once, not one import after the other."""
    found = list(_FIRST)
    for name in found:  # grows meanwhile
        imported = (posixpath.join(posixpath.dirname(name), path) for path in _IMPORT.findall(contents[name].decode()))
        found += dict.fromkeys(path for path in map(posixpath.normpath, imported) if path not in found)
    return found


def _link(base: str, name: str) -> str:
    kind = "stylesheet" if name.endswith(".css") else "modulepreload"
    return f"<link rel={kind} href={base}/{name}>"


async def get_page(_: Request) -> Response:
    headers = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-cache"}
    console = await run_in_threadpool(read_console)
    return Response(console.page, media_type="text/html", headers=headers)


async def get_file(request: Request) -> Response:
    console = await run_in_threadpool(read_console)
    file = console.files.get(request.path_params["path"])
    if file is None or request.path_params["digest"] != console.digest:
        raise Problem("not-found", "This file belongs to another release of the console: load the page again.")
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(file.content, media_type=file.media_type, headers=headers)


OPERATIONS = [
    Operation("GET", "/", get_page, "The console, a page for people", {200: "text/html"}, role="anyone", scope="any"),
    Operation(
        "GET",
        _PATH,
        get_file,
        "A file of the console",
        {200: "*/*"},
        sends=("Cache-Control",),
        problems=("not-found",),
        role="anyone",
        scope="any",
    ),
]
