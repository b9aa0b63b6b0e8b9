"""Queues as a whole: how much stands where, now or as it changes, and pausing them."""

from collections.abc import AsyncGenerator

from starlette.requests import Request
from starlette.responses import Response

from state.tasks.queues import pause_queue, queue_status, resume_queue
from taskapi.lines import KEEP_ALIVE, RETRY
from taskapi.queuewatch import QueueWatch
from taskapi.requests import queue_of
from taskapi.stream import HEADERS, MEDIA_TYPE, LineResponse
from taskapi.threads import call
from taskapi.views import QueuesStatus, QueueSwitch, answer


async def get_status(request: Request) -> Response:
    return answer(QueuesStatus.model_validate(await call(request, queue_status)))


async def post_pause(request: Request) -> Response:
    name = queue_of(request)
    gate = await call(request, pause_queue, name)
    return answer(QueueSwitch(queue=name, gate=gate["key"], paused=gate["paused"]))


async def post_resume(request: Request) -> Response:
    name = queue_of(request)
    gate = await call(request, resume_queue, name)
    return answer(QueueSwitch(queue=name, gate=gate["key"], paused=gate["paused"]))


async def get_stream(request: Request) -> Response:
    if request.method == "HEAD":
        return Response(headers=HEADERS, media_type=MEDIA_TYPE)
    watch: QueueWatch = request.app.state.queue_watch
    return LineResponse(_lines(watch), watch.pace.patience)


async def _lines(watch: QueueWatch) -> AsyncGenerator[bytes, None]:
    yield RETRY
    with watch.join() as place:
        while (text := await place.take()) is not None:
            yield text or KEEP_ALIVE
