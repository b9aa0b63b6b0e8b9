"""Language providers by name. Importing this package registers the built-in ones."""

from providers.language import registry
from providers.language.local import LocalLanguage
from providers.language.openai_compatible import OpenAICompatibleLanguage

registry.register(LocalLanguage())
registry.register(OpenAICompatibleLanguage())
