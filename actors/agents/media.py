"""An agent that generates media: pictures and videos as items of projects and steps of workflows."""

from actors.media import MediaRequest, MediaResult, generate_media, list_known_gates, provider_gate
from broker import AsyncContext, agent


@agent("media", "generate", gates=provider_gate, known_gates=list_known_gates)
async def generate(ctx: AsyncContext, request: MediaRequest) -> MediaResult:
    """Generates media and stores the contents, like the actor media_generation."""
    return await generate_media(ctx, request)
