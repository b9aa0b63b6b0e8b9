"""Signatures of webhooks (Standard Webhooks 1.0, symmetric)."""

import base64
import hashlib
import hmac
from collections.abc import Iterable
from secrets import token_bytes

PREFIX = "whsec_"
_BYTES = 32  # of a secret; the standard asks for 24 to 64


def make_secret() -> str:
    return PREFIX + base64.b64encode(token_bytes(_BYTES)).decode()


def sign(secrets: Iterable[str], message_id: str, timestamp: int, body: bytes) -> str:
    """Returns the value of the header webhook-signature: one signature for each secret, separated by spaces. A receiver
    accepts a message if one of them is right."""
    content = f"{message_id}.{timestamp}.".encode() + body
    return " ".join(f"v1,{_sign(secret, content)}" for secret in secrets)


def _sign(secret: str, content: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
