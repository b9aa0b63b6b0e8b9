"""For the workers of these tests: remote jobs are asked about without long pauses."""

from providers.media import registry

for name in ("leonardo", "midjourney"):
    registry.get(name).poll_seconds = 0.05  # type: ignore[misc]
