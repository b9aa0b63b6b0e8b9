"""Makes the workers of these tests poll remote jobs without long pauses."""

from providers.media import registry

for name in ("leonardo", "midjourney"):
    registry.get(name).poll_seconds = 0.05  # type: ignore[misc]
