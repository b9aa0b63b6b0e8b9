"""Real HTTP servers that behave like the services we use, written from their public documentation."""

from tests.providers.servers.chat import ChatServer
from tests.providers.servers.leonardo import LeonardoServer
from tests.providers.servers.midjourney import MidjourneyServer

__all__ = ["ChatServer", "LeonardoServer", "MidjourneyServer"]
