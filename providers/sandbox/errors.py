"""Why there is no result."""

from providers.errors import ProviderError


class CommandNotFound(ProviderError):
    category = "permanent"


class CommandRefused(ProviderError):
    """It is there, and cannot be started."""

    category = "permanent"


class SandboxFailed(ProviderError):
    """Not the command's fault: no memory for a process, or the keeper was killed."""
