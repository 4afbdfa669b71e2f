"""The kernel's own walls around a process: namespaces and Landlock. Linux only.

Each function puts up one wall and returns whether it stands: an old kernel, a container that
forbids it or another system leaves it out, and the marks say so. Imports the standard library only.
References: unshare(2), user_namespaces(7), landlock(7), prctl(2).
"""

import ctypes
import os
import signal
import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

_NEW_USER, _NEW_PROCESSES, _NEW_NETWORK, _NEW_IPC = 0x10000000, 0x20000000, 0x40000000, 0x08000000
_PARENT_DEATH_SIGNAL, _NO_NEW_PRIVILEGES = 1, 38  # options of prctl(2)
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # system calls, on every architecture
_READ_FILE, _READ_FOLDER, _WRITE_FILE, _TRUNCATE = 1 << 2, 1 << 3, 1 << 1, 1 << 14
_FILE_RIGHTS = 0b111 | _TRUNCATE | 1 << 15  # execute, write, read, truncate, device control
_RIGHTS_BY_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc", "/proc", "/sys", "/dev")


def enter_namespaces() -> bool:
    """Leave the host's processes, network and users behind. Call it before any thread is started.

    The next child that is forked is process 1 of its own world: when it ends, all that it has
    started ends with it. There is no network but a loopback that is switched off.
    """
    if sys.platform != "linux":
        return False
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_USER | _NEW_PROCESSES | _NEW_NETWORK | _NEW_IPC) != 0:
        return False
    try:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    except OSError:  # the walls stand all the same; the user is shown as nobody
        pass
    return True


def die_with_parent() -> None:
    """Ask the kernel to kill this process when the one that started it ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)


def restrict_files(scratch: str, hidden: str) -> bool:
    """Only `scratch` may be changed; only the system, Python and its libraries may be read.

    hidden: a folder that cannot be read even where it lies among the libraries. Nothing can be
    executed any more, nor, on newer kernels, a TCP connection made or a process outside signalled.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, 0, 1)
    if version < 1:
        return False
    handled = _RIGHTS_BY_VERSION[max(known for known in _RIGHTS_BY_VERSION if known <= version)]
    attributes = [handled]
    attributes += [0b11] if version >= 4 else []  # TCP bind and connect
    attributes += [0b11] if version >= 6 else []  # abstract sockets, signals to the outside
    packed = struct.pack(f"<{len(attributes)}Q", *attributes)
    rules = libc.syscall(_CREATE_RULESET, packed, len(packed), 0)
    if rules < 0:
        return False
    try:
        for folder, rights in _allowed(scratch, hidden, handled):
            _allow(libc, rules, folder, rights & handled)
        if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
            return False
        return bool(libc.syscall(_RESTRICT_SELF, rules, 0) == 0)
    finally:
        os.close(rules)


def _allowed(scratch: str, hidden: str, everything: int) -> Iterator[tuple[Path, int]]:
    read = _READ_FILE | _READ_FOLDER
    yield Path(scratch), everything
    yield Path(os.devnull), _READ_FILE | _WRITE_FILE | _TRUNCATE
    roots = {*map(Path, _SYSTEM), *map(Path, (sys.prefix, sys.base_prefix)), *map(Path, sys.path)}
    for root in sorted(root.resolve() for root in roots if root.is_absolute() and root.exists()):
        for path in without(root, Path(hidden).resolve()):
            yield path, read
        yield root, _READ_FOLDER  # imports list folders; names alone give nothing away


def without(root: Path, hidden: Path) -> Iterable[Path]:
    """The paths that together hold all of `root` but `hidden`."""
    if hidden == root or root.is_relative_to(hidden):
        return []
    if not hidden.is_relative_to(root):
        return [root]
    return [path for child in sorted(root.iterdir()) for path in without(child, hidden)]


def _allow(libc: ctypes.CDLL, rules: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # a dangling link, or gone by now
        return
    try:
        if not path.is_dir():
            rights &= _FILE_RIGHTS
        if rights:
            libc.syscall(_ADD_RULE, rules, 1, struct.pack("<Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)
