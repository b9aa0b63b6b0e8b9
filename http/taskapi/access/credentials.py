"""What a request shows to prove who sends it: an API key in its header Authorization, or a stream token in its URL."""

import re
from hmac import compare_digest
from urllib.parse import unquote_plus

from starlette.requests import Request

from state.access.keys import ValidKey, hash_key, parse_key_id
from taskapi.access.keyring import Snapshot
from taskapi.access.tokens import parse_token
from taskapi.api.problems import Problem

_KEY_IN_URL = re.compile(r"cbk_[0-9a-f]{32}_")
_NO_HASH = bytes(32)
_HOW = "Send your API key as `Authorization: Bearer cbk_…`."


def has_credentials(request: Request, *, by_token: bool) -> bool:
    return "authorization" in request.headers or (by_token and "token" in request.query_params)


def find_key(request: Request, snapshot: Snapshot, *, by_token: bool) -> ValidKey | None:
    """Returns the key that the request proves to have; None if that is not valid. Raises a 401 if it has none."""
    headers = request.headers.getlist("authorization")
    if len(headers) > 1:
        raise refuse("The request has several headers Authorization.")
    if headers:
        return _find_by_header(headers[0], snapshot)
    if by_token and (tokens := request.query_params.getlist("token")):
        return _find_by_token(tokens[-1], request.scope["path"], snapshot)
    raise refuse(f"This needs an API key. {_HOW}", invalid=False)


def refuse_key_in_url(request: Request) -> None:
    """Also for operations that need no key: addresses end up in logs and histories."""
    query = request.scope.get("query_string", b"").decode("latin-1")
    if "cbk" in query and _KEY_IN_URL.search(unquote_plus(query)):
        raise refuse(f"An API key does not belong into a URL, which others may log: revoke this key. {_HOW}")


def refuse(detail: str, *, invalid: bool = True) -> Problem:
    challenge = 'Bearer realm="callboard"' + (', error="invalid_token"' if invalid else "")
    return Problem("unauthorized", detail, headers={"WWW-Authenticate": challenge})


def _find_by_header(header: str, snapshot: Snapshot) -> ValidKey | None:
    scheme, _, text = header.strip().partition(" ")
    text = text.strip()
    if scheme.lower() != "bearer":
        raise refuse(f"There is only one way to authenticate. {_HOW}")
    key_id = parse_key_id(text)
    if key_id is None:
        raise refuse("This is not an API key: it is cut off or mistyped. A key begins with cbk_.")
    key = snapshot.get(key_id)
    # An unknown id takes as long as a wrong secret.
    fits = compare_digest(hash_key(text), _NO_HASH if key is None else key.secret_hash)
    return key if fits else None


def _find_by_token(text: str, path: str, snapshot: Snapshot) -> ValidKey | None:
    token = parse_token(text)
    if token is None:
        raise refuse("This is not a stream token: it is cut off or mistyped. A token begins with cbt_.")
    key = snapshot.get(token.key_id)
    return key if token.is_valid(path, _NO_HASH if key is None else key.secret_hash) else None
