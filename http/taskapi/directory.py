"""GET /actors and /workers: what can be done here, and who does it."""

from starlette.requests import Request
from starlette.responses import Response

from state.settings import get_settings
from state.tasks import catalog
from state.workers.registry import list_workers
from taskapi.threads import call
from taskapi.views import ActorView, Page, WorkerView, answer


async def get_actors(_: Request) -> Response:
    return answer(Page[ActorView](items=[ActorView.of(spec) for spec in catalog.actors()]))


async def get_workers(request: Request) -> Response:
    rows = await call(request, list_workers)
    lease_seconds = get_settings().lease_seconds
    return answer(Page[WorkerView](items=[WorkerView.of(row, lease_seconds) for row in rows]))
