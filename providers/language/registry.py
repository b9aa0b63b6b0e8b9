"""The language providers."""

from providers.language.protocol import LanguageProvider
from providers.registry import Registry

_registry: Registry[LanguageProvider] = Registry("language")
register = _registry.register
get = _registry.get
list_names = _registry.list_names
