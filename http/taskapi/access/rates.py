"""The rate limit of each key: a token bucket in this process. A key may send its requests of a minute at once; after
that, one whenever its share of a minute has passed."""

import math
from collections.abc import Collection
from time import monotonic

from state.access.keys import ValidKey
from taskapi.api.problems import Problem

_PERIOD = 60.0


class RateLimits:
    def __init__(self) -> None:
        self._full_at: dict[str, float] = {}  # by key id: when its bucket will be full, on the monotonic clock

    def take(self, key_id: str, key: ValidKey) -> None:
        """Counts a request. Raises a 429 if the key has none left; such a request does not count."""
        if key.rate_limit is None:
            return
        cost = _PERIOD / key.rate_limit
        now = monotonic()
        full_at = max(self._full_at.get(key_id, 0.0), now) + cost
        excess = full_at - now - _PERIOD
        if excess > cost * 1e-6:  # sums of fractions are not exact
            seconds = str(math.ceil(excess))
            detail = f"This key may send {key.rate_limit} requests a minute. Try again in {seconds} s."
            raise Problem("too-many-requests", detail, headers={"Retry-After": seconds})
        self._full_at[key_id] = full_at

    def forget_others(self, key_ids: Collection[str]) -> None:
        for key_id in self._full_at.keys() - key_ids:
            del self._full_at[key_id]
