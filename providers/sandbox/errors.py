"""The errors of sandboxes."""

from providers.errors import ProviderError


class CommandNotFound(ProviderError):
    """There is no such command, or its interpreter is missing."""

    category = "permanent"


class CommandRefused(ProviderError):
    """The command exists but cannot be started."""

    category = "permanent"


class SandboxFailed(ProviderError):
    """The sandbox failed, not the command: there was no memory for a process, or the supervisor was killed."""


class IsolationMissing(ProviderError):
    """The settings demand a kind of sandbox that this machine does not have. The command was not run."""

    category = "permanent"
