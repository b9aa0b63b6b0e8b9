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
    """Providers of one kind. Their users refer to them by name."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._providers: dict[str, T] = {}
        self._concurrency: dict[str, int | None] = {}

    def register(self, provider: T, *, concurrency: int | None = None) -> T:
        """Adds a provider, or replaces the one with its name. `concurrency` is the number of its jobs that may run at
        once, over all machines; if it is not given, the provider's own limit applies."""
        self._providers[provider.name] = provider
        self._concurrency[provider.name] = concurrency
        return provider

    def get_concurrency(self, name: str) -> int:
        """Returns the number of the provider's jobs that may run at once, over all machines: 1 if no limit is given or
        the limit is not usable, so that a broken provider does not stop a worker."""
        provider = self.get(name)
        limit: object = self._concurrency[name]
        if limit is None:
            try:
                limit = getattr(getattr(provider, "limits", None), "concurrency", None)
            except Exception:
                log.exception("provider %s: its limits cannot be read; one job at a time", name)
                return 1
        if limit is None:
            return 1
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
            log.error("provider %s: its concurrency %r is not a number; one job at a time", name, limit)
            return 1
        return limit

    def get(self, name: str) -> T:
        try:
            return self._providers[name]
        except KeyError:
            known = ", ".join(self.list_names())
            raise InvalidInput(f"There is no {self._kind} provider {name!r}; known are: {known}") from None

    def list_names(self) -> list[str]:
        return sorted(self._providers)
