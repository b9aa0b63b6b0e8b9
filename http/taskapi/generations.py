"""Generations, and the prompts that people keep for them."""

from starlette.requests import Request
from starlette.responses import Response

from state.media.generations import get_generation
from state.media.prompts import get_prompt, put_prompt
from taskapi.bodies import parse_body, read_body
from taskapi.requests import PromptBody, TenantQuery, generation_id_of, parse_query, prompt_id_of
from taskapi.threads import call
from taskapi.views import GenerationView, PromptView, answer


async def get_one(request: Request) -> Response:
    return answer(GenerationView.of(await call(request, get_generation, generation_id_of(request))))


async def get_one_prompt(request: Request) -> Response:
    query = parse_query(request, TenantQuery)
    return answer(PromptView.of(await call(request, get_prompt, prompt_id_of(request), query.tenant)))


async def put_one_prompt(request: Request) -> Response:
    query = parse_query(request, TenantQuery)
    body = parse_body(await read_body(request), PromptBody)
    prompt_id: str = request.path_params["prompt_id"]
    return answer(PromptView.of(await call(request, put_prompt, prompt_id, body.text, query.tenant)))
