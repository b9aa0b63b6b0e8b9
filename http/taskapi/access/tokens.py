"""Stream tokens, for EventSource and <img>, which cannot send a header: `cbt_<key id>_<expiry>_<HMAC>`. A token is good
for one path and a few minutes. It is signed with the hash of its key, so it ends with the key, and no server has to
store it."""

import hashlib
import hmac
import re
from time import time
from typing import NamedTuple

from state.access.keys import ValidKey

LIFETIME = 300  # seconds
_CLOCKS = 60  # seconds by which the clocks of two servers may differ

_TOKEN = re.compile(r"cbt_([0-9a-f]{32})_([0-9]{1,12})_([0-9a-f]{64})")


class Token(NamedTuple):
    key_id: str
    expires: int  # seconds since 1970
    signature: str

    def is_valid(self, path: str, secret_hash: bytes) -> bool:
        fits = hmac.compare_digest(self.signature, _sign(secret_hash, path, self.expires))
        # Whoever has the key can sign a token that expires later than ours do.
        return fits and 0 < self.expires - time() <= LIFETIME + _CLOCKS


def make_token(key: ValidKey, path: str) -> tuple[str, int]:
    """Returns a token for a path, and the moment at which it expires."""
    assert key.caller.key_id is not None  # noqa: S101
    expires = int(time()) + LIFETIME
    part = key.caller.key_id.removeprefix("ck_")
    return f"cbt_{part}_{expires}_{_sign(key.secret_hash, path, expires)}", expires


def parse_token(text: str) -> Token | None:
    match = _TOKEN.fullmatch(text)
    return None if match is None else Token(f"ck_{match[1]}", int(match[2]), match[3])


def _sign(secret_hash: bytes, path: str, expires: int) -> str:
    return hmac.new(secret_hash, f"stream token\n{expires}\n{path}".encode(), hashlib.sha256).hexdigest()
