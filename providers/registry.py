"""Providers by name."""

from typing import Generic, Protocol, TypeVar

from providers.errors import InvalidInput


class Named(Protocol):
    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


class Registry(Generic[T]):
    """A provider registers itself here; its users know nothing but its name."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._providers: dict[str, T] = {}

    def register(self, provider: T) -> T:
        """Add a provider; the same name again replaces it."""
        self._providers[provider.name] = provider
        return provider

    def get(self, name: str) -> T:
        try:
            return self._providers[name]
        except KeyError:
            known = ", ".join(self.names())
            raise InvalidInput(f"Unknown {self._kind} provider {name!r}; known are: {known}") from None

    def names(self) -> list[str]:
        return sorted(self._providers)
