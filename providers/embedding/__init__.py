"""Embedding providers by name. Importing this package registers the built-in ones."""

from providers.embedding import registry
from providers.embedding.local import LocalEmbedding
from providers.embedding.openai_compatible import OpenAICompatibleEmbedding

registry.register(LocalEmbedding())
registry.register(OpenAICompatibleEmbedding())
