"""The passwords of the embedded Postgres's roles: a file beside its data, in libpq's own format (`passfile`). So a
password is in no address, no command line, no environment and no log."""

import base64
import hashlib
import hmac
import os
import re
import secrets
from pathlib import Path

from state.database.embedded.filelock import FileLock

ROLES = ("callboard_owner", "callboard_api", "callboard_worker", "callboard_reader")
_LINE = re.compile(r"^\*:\*:\*:(?P<role>\w+):(?P<password>[\w-]+)$", re.MULTILINE)
_COMMENT = "# Passwords of the embedded Postgres, for libpq: host:port:database:role:password.\n"
_ITERATIONS = 4096  # Postgres's default
_LONGEST = 65536  # bytes


class Passwords:
    def __init__(self, path: Path) -> None:
        self.path = path

    def read_or_make(self) -> dict[str, str]:
        """Returns the password of each role. A file that is missing or incomplete is written anew. The caller holds the
        lock of the database."""
        with FileLock(self.path) as file:  # made for its owner only
            known = _parse(os.pread(file.fileno(), _LONGEST, 0))
            if known.keys() >= set(ROLES):
                return known
            made = {role: secrets.token_urlsafe(32) for role in ROLES}
            file.mark(_COMMENT + "".join(f"*:*:*:{role}:{password}\n" for role, password in made.items()))
            os.fsync(file.fileno())
            return made

    def fingerprint(self) -> str:
        """Changes with the file. Says nothing about the passwords, which are random."""
        try:
            return hashlib.sha256(self.path.read_bytes()).hexdigest()
        except FileNotFoundError:
            return ""


def _parse(text: bytes) -> dict[str, str]:
    return {found["role"]: found["password"] for found in _LINE.finditer(text.decode("ascii", "replace"))}


def make_verifier(password: str) -> str:
    """Returns what Postgres stores of a password (SCRAM-SHA-256, RFC 5803), so that the password itself is in no
    statement that a log could show."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ITERATIONS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    return f"SCRAM-SHA-256${_ITERATIONS}:{_encode(salt)}${_encode(stored)}:{_encode(server)}"


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()
