"""Providers by name."""

import logging
from typing import Generic, Protocol, TypeVar

from providers.errors import InvalidInput

log = logging.getLogger(__name__)


class Named(Protocol):
    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


class Registry(Generic[T]):
    """A provider registers itself here; its users know nothing but its name."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._providers: dict[str, T] = {}
        self._concurrency: dict[str, int | None] = {}

    def register(self, provider: T, *, concurrency: int | None = None) -> T:
        """Add a provider; the same name again replaces it. `concurrency`: how many of its jobs may run at once, over
        all machines; unset: as the provider itself says."""
        self._providers[provider.name] = provider
        self._concurrency[provider.name] = concurrency
        return provider

    def concurrency(self, name: str) -> int:
        """How many jobs of this provider may run at once, over all machines: 1 when nobody says, or what they say
        is of no use. A provider that is broken keeps nobody from working."""
        provider = self.get(name)
        said: object = self._concurrency[name]
        if said is None:
            try:
                said = getattr(getattr(provider, "limits", None), "concurrency", None)
            except Exception:
                log.exception("a provider's limits cannot be read, one job at a time", extra={"provider": name})
                return 1
        if said is None:
            return 1
        if not isinstance(said, int) or isinstance(said, bool) or said < 0:
            log.error("provider %s: its concurrency is %r, not a number; one job at a time", name, said)
            return 1
        return said

    def get(self, name: str) -> T:
        try:
            return self._providers[name]
        except KeyError:
            known = ", ".join(self.names())
            raise InvalidInput(f"Unknown {self._kind} provider {name!r}; known are: {known}") from None

    def names(self) -> list[str]:
        return sorted(self._providers)
