"""GET /: a page for people who open the server in a browser."""

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
<pre>curl -X POST BASE/api/v1/tasks -d \\
  '{"actor": "media_generation", "payload": {"prompt": "a lighthouse in a storm"}}'
curl -N BASE/api/v1/tasks/<em>task_id</em>/stream</pre>
<p><a href="/api/v1/tasks">tasks</a> · <a href="/api/v1/actors">actors</a> · <a href="/api/v1/workers">workers</a> ·
<a href="/health">health</a> · <a href="/openapi.json">OpenAPI</a></p>
</html>
"""


async def get_home(request: Request) -> Response:
    return HTMLResponse(_PAGE.replace("BASE/", str(request.base_url)))


OPERATIONS = [
    Operation("GET", "/", get_home, "A page for people", {200: "text/html"}, role="anyone", scope="any"),
]
