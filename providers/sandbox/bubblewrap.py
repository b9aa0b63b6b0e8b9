"""Bubblewrap: a command with mounts and namespaces of its own. It sees the system's programs, read-only, its folder as
/workspace, and a small /tmp: nothing of the project, no home, no socket, no other process, no network."""

import errno
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from providers.sandbox.errors import CommandNotFound, CommandRefused, SandboxFailed

WORKSPACE = "/workspace"
OWN_PROCESSES = 2  # bubblewrap itself, outside and inside
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_CONFIGURATION = (  # of /etc: what programs need to find their libraries, names, certificates and time zone
    "alternatives", "ca-certificates", "fonts", "group", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime",
    "mime.types", "nsswitch.conf", "passwd", "pki", "ssl", "timezone",
)  # fmt: skip
_MEMORY_FILES = 64 * 1024 * 1024  # bytes of /tmp and of /dev/shm, which are in memory
_SHORTAGE = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
_NOT_EXECUTED = re.compile(r"bwrap: execvp (?P<name>.*): (?P<reason>[^:]+)\n")


def build_command(command: Sequence[str], workspace: str, folders: Sequence[str]) -> list[str]:
    return [_find_program() or "bwrap", *_find_options(), *_build_mounts(workspace, folders), "--", *command]


@cache
def find_problem() -> str | None:
    """Returns why bubblewrap cannot be used here, or None. It is really run, because a kernel may forbid what it
    needs."""
    if _find_program() is None:
        return "bubblewrap is not installed (Debian, Ubuntu: apt install bubblewrap)"
    with tempfile.TemporaryDirectory() as folder:
        answer = _try(build_command(["true"], folder, ()))
    return None if answer == "" else f"bubblewrap does not work here: {answer}"


def read_failure(name: str, exit_code: int, output: str) -> Exception | None:
    """Returns the error if bubblewrap, not the command, has ended with this output."""
    if exit_code != 1 or not output.startswith("bwrap: ") or output.count("\n") != 1:
        return None
    refused = _NOT_EXECUTED.fullmatch(output)
    if refused is None:
        return SandboxFailed(f"The sandbox of {name!r} could not be made: {output.strip()}")
    if refused["reason"] == os.strerror(2):
        return CommandNotFound(f"There is no command {name!r} in the sandbox, or its interpreter is missing.")
    return CommandRefused(f"{name!r} cannot be started: {refused['reason']}")


def _find_program() -> str | None:
    return shutil.which("bwrap")


@cache
def _find_options() -> tuple[str, ...]:
    options = (
        "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
        "--hostname", "sandbox", "--clearenv",
    )  # fmt: skip
    strict = (*options, "--unshare-user", "--disable-userns")  # further namespaces could mount more memory
    with tempfile.TemporaryDirectory() as folder:
        works = _try([_find_program() or "bwrap", *strict, *_build_mounts(folder, ()), "--", "true"]) == ""
    return strict if works else options


def _build_mounts(workspace: str, folders: Sequence[str]) -> list[str]:
    size = ["--size", str(_MEMORY_FILES)]
    mounts: list[str] = []
    for path in _SYSTEM:
        if Path(path).is_symlink():
            mounts += ["--symlink", str(Path(path).readlink()), path]
        else:
            mounts += ["--ro-bind-try", path, path]
    for name in _CONFIGURATION:
        mounts += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    mounts += ["--proc", "/proc", "--dev", "/dev", *size, "--tmpfs", "/dev/shm", *size, "--tmpfs", "/tmp"]  # noqa: S108
    for folder in folders:
        mounts += ["--ro-bind", folder, folder]
    mounts += ["--bind", workspace, WORKSPACE, "--chdir", WORKSPACE]
    # Root without capabilities may write to most of /proc/sys: to kernel.core_pattern, which the kernel runs outside.
    mounts += ["--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/"]
    for name, value in _make_environment().items():
        mounts += ["--setenv", name, value]
    return mounts


def _make_environment() -> Mapping[str, str]:
    return {"PATH": _PATH, "LANG": os.environ.get("LANG", "C.UTF-8"), "HOME": WORKSPACE, "TMPDIR": "/tmp"}  # noqa: S108


def _try(command: Sequence[str]) -> str:
    """Returns "" if the command works, else its error. Raises SandboxFailed if the machine has no room for it just now:
    that says nothing about bubblewrap, and the answer is kept for as long as the worker lives."""
    try:
        ended = subprocess.run(
            command, env={"PATH": _PATH}, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False
        )
        answer = "" if ended.returncode == 0 else ended.stderr.decode(errors="replace").strip() or "it failed"
    except subprocess.TimeoutExpired as late:
        raise SandboxFailed(f"Bubblewrap could not be tried now: {late}") from late
    except OSError as failure:
        answer = str(failure)
    if any(os.strerror(shortage) in answer for shortage in _SHORTAGE):
        raise SandboxFailed(f"Bubblewrap could not be tried now: {answer}")
    return answer
