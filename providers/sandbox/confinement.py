"""What a process may do: the rights and the resources that the kernel takes from it. Only Linux has most of this;
elsewhere the limits of resources remain."""

import ctypes
import os
import resource
from collections.abc import Mapping
from contextlib import suppress

_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITIES = 64
_OTHER_TASKS = 512  # that the user may start outside of a sandbox while it runs
_CAPABILITY_VERSION = 0x20080522

_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # system calls, the same on all machines
_LANDLOCK_VERSION, _LANDLOCK_PATH_BENEATH = 1, 1
_LANDLOCK_MOVE_FILES = 1 << 13
_LANDLOCK_SIGNALS_AND_ABSTRACT_SOCKETS = 0b11


def _prctl(option: int, *values: int) -> bool:
    given = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    try:
        return bool(ctypes.CDLL(None).prctl(option, *given) == 0)
    except AttributeError:  # not Linux
        return False


def adopt_orphans() -> bool:
    """Makes descendants that lose their parent our children. Returns whether the system can do that."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def hide_memory() -> None:
    """Keeps other processes of the user from reading this one's environment and memory in /proc."""
    _prctl(_PR_SET_DUMPABLE, 0)


def limit_resources(limits: Mapping[str, float]) -> None:
    for kind, limit in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, int(limits["memory"])),
        (resource.RLIMIT_FSIZE, int(limits["file_size"])),
        (resource.RLIMIT_NOFILE, int(limits["open_files"])),
        *_bound_tasks(int(limits["processes"])),
    ):
        hard = resource.getrlimit(kind)[1]
        most = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (most, most))


def _bound_tasks(processes: int) -> list[tuple[int, int]]:
    """Bounds a fork bomb until the watch sees it, for a user without control groups. The kernel counts all tasks of the
    user, also those that a container does not show: so only where all processes can be seen. It does not count those of
    root."""
    if os.getuid() == 0 or _read("/proc/2/comm") != "kthreadd\n":
        return []
    return [(resource.RLIMIT_NPROC, _count_tasks(os.getuid()) + processes + _OTHER_TASKS)]


def _count_tasks(user: int) -> int:
    """Returns the number of processes and threads of a user."""
    count = 0
    for name in os.listdir("/proc"):  # noqa: PTH208  (several times faster)
        if name.isdecimal():
            status = dict(line.split(":", 1) for line in _read(f"/proc/{name}/status").splitlines() if ":" in line)
            if status.get("Uid", "").split()[:1] == [str(user)]:
                count += int(status["Threads"])
    return count


def _read(path: str) -> str:
    try:
        with open(path, errors="replace") as file:  # noqa: PTH123
            return file.read()
    except OSError:  # the process has ended, or there is no /proc
        return ""


def keep_privileges_out() -> None:
    """Programs get no other user's rights by setuid: we could not kill them."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """Takes all capabilities from this process and from the programs that it becomes, also if it is root's. Then the
    kernel refuses it the memory of every process that has any."""
    for number in range(_CAPABILITIES):
        _prctl(_PR_CAPBSET_DROP, number)
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    nothing = (ctypes.c_uint32 * 6)()
    with suppress(AttributeError):
        ctypes.CDLL(None).capset(header, nothing)


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scope", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def separate() -> None:
    """Puts this process and its descendants into a Landlock domain: they cannot read or trace the processes outside of
    it, nor (from Linux 6.12 on) send them signals. It takes no right to files: moving them between folders, which any
    domain forbids by default, is allowed again."""
    with suppress(AttributeError, OSError):
        call = ctypes.CDLL(None).syscall
        version = call(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_LANDLOCK_VERSION))
        if version < 2:  # not there, or unable to allow the moving of files
            return
        scope = _LANDLOCK_SIGNALS_AND_ABSTRACT_SOCKETS if version >= 6 else 0
        rules = _Ruleset(_LANDLOCK_MOVE_FILES, 0, scope)
        size = 24 if version >= 6 else 16 if version >= 4 else 8
        ruleset = call(_LANDLOCK_CREATE, ctypes.byref(rules), ctypes.c_size_t(size), ctypes.c_uint32(0))
        if ruleset < 0:
            return
        root = os.open("/", os.O_PATH | os.O_CLOEXEC)
        beneath = _PathBeneath(_LANDLOCK_MOVE_FILES, root)
        allowed = call(_LANDLOCK_ADD, ruleset, _LANDLOCK_PATH_BENEATH, ctypes.byref(beneath), ctypes.c_uint32(0))
        if allowed == 0:
            call(_LANDLOCK_RESTRICT, ruleset, ctypes.c_uint32(0))
        os.close(root)
        os.close(ruleset)
