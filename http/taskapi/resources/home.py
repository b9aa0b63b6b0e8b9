"""GET /: a page for people who open the server in a browser."""

from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from taskapi.api.operation import Operation

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Callboard</title>
<style>body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 3rem auto; padding: 0 1rem }
pre { background: #f4f4f4; padding: 1rem; overflow-x: auto }</style>
<h1>Callboard</h1>
<p>Long, expensive work that is never lost and can always be watched: you submit a task, a worker runs it, and you can
follow its history here, live.</p>
<pre>curl BASE/api/v1/tasks --json \\
  '{"actor": "media_generation", "payload": {"prompt": "a lighthouse in a storm"}}'
curl -N BASE/api/v1/tasks/<em>task_id</em>/stream</pre>
<p><a href="/api/v1/tasks">tasks</a> · <a href="/api/v1/actors">actors</a> · <a href="/api/v1/workers">workers</a> ·
<a href="/health">health</a> · <a href="/docs">API</a> (<a href="/openapi.json">OpenAPI</a>)</p>
</html>
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


async def get_home(request: Request) -> Response:
    page = _PAGE.replace("BASE/", escape(str(request.base_url)))  # by the Host that the client has sent
    return HTMLResponse(page, headers={"Content-Security-Policy": _POLICY})


OPERATIONS = [
    Operation("GET", "/", get_home, "A page for people", {200: "text/html"}, role="anyone", scope="any"),
]
