"""The embedding providers."""

from providers.embedding.protocol import EmbeddingProvider
from providers.registry import Registry

_registry: Registry[EmbeddingProvider] = Registry("embedding")
register = _registry.register
get = _registry.get
list_names = _registry.list_names
