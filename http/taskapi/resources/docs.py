"""GET /docs: a page to read the OpenAPI document. Its files come from the package swagger-ui-py and from this folder,
and are served by us: nothing is loaded from elsewhere, and no script is inline."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from taskapi.api.operation import Handler, Operation
from taskapi.api.problems import Problem

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Callboard: the HTTP API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="api"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
"""

# The page sets styles of its own elements, and its icons are in the stylesheet.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {"Cache-Control": "max-age=3600"}


async def get_page(_: Request) -> Response:
    return HTMLResponse(_PAGE, headers={"Content-Security-Policy": _POLICY})


async def get_style(_: Request) -> Response:
    return FileResponse(_find_folder() / "swagger-ui.css", media_type="text/css", headers=_HEADERS)


async def get_script(_: Request) -> Response:
    return FileResponse(_find_folder() / "swagger-ui-bundle.js", media_type="text/javascript", headers=_HEADERS)


async def get_start(_: Request) -> Response:
    return FileResponse(Path(__file__).with_name("start.js"), media_type="text/javascript", headers=_HEADERS)


@cache
def _find_folder() -> Path:
    """The package itself is not imported: only its files are needed."""
    found = find_spec("swagger_ui")
    if found is None or found.origin is None:
        raise Problem("not-found", "The package swagger-ui-py is not installed.")
    return Path(found.origin).parent / "static"


def _make_operation(path: str, handler: Handler, media_type: str) -> Operation:
    return Operation(
        "GET",
        path,
        handler,
        "A file of the page to read this API",
        {200: media_type},
        sends=("ETag", "Cache-Control"),
        role="anyone",
        scope="any",
    )


OPERATIONS = [
    Operation("GET", "/docs", get_page, "A page to read this API", {200: "text/html"}, role="anyone", scope="any"),
    _make_operation("/docs/swagger-ui.css", get_style, "text/css"),
    _make_operation("/docs/swagger-ui-bundle.js", get_script, "text/javascript"),
    _make_operation("/docs/start.js", get_start, "text/javascript"),
]
