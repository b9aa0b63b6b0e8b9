"""Makes the workers of these tests pause for an hour between two polls of a remote job."""

from providers.media import registry

for name in ("leonardo", "midjourney"):
    registry.get(name).poll_seconds = 3600.0  # type: ignore[misc]
