"""For a worker whose local language model creates a task when it is asked, which an agent's code must not do."""

from typing import Any

from providers.language import registry
from providers.language.local import LocalLanguage
from providers.language.protocol import Completion
from state import submit


class SubmittingModel(LocalLanguage):
    def complete(self, *_: Any, **__: Any) -> Completion:
        submit("summarize", {"content": "A task of an agent.", "provider": "local"})
        raise AssertionError("it was submitted")


registry.register(SubmittingModel())
