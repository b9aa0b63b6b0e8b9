"""Media providers by name. Importing this package registers the built-in ones."""

from providers.media import registry
from providers.media.leonardo import LeonardoProvider
from providers.media.local import LocalProvider
from providers.media.midjourney import MidjourneyProvider

registry.register(LocalProvider())
registry.register(LeonardoProvider())
registry.register(MidjourneyProvider())
