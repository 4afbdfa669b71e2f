"""The kernel's own walls around a process: namespaces, mounts, Landlock. Linux only.

Each function puts up one wall and returns whether it stands: an old kernel, a container that
forbids it or another system leaves it out, and the marks say so. Imports the standard library only.
References: unshare(2), user_namespaces(7), mount_setattr(2), landlock(7), capset(2), prctl(2).
"""

import contextlib
import ctypes
import errno
import os
import signal
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

try:
    import resource
except ImportError:  # Windows, where this can be imported and puts up nothing
    resource = None  # type: ignore[assignment]

_NEW_USER, _NEW_PROCESSES, _NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
_NEW_IPC, _NEW_MOUNTS = 0x08000000, 0x00020000
_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_EXEC = 1, 2, 4, 8  # flags of mount(2) and mount_setattr(2)
_RECURSIVE, _PRIVATE, _AT_RECURSIVE, _AT_CWD = 0x4000, 0x40000, 0x8000, -100
_MOUNT_SETATTR = 442
_PARENT_DEATH_SIGNAL, _NO_NEW_PRIVILEGES = 1, 38  # options of prctl(2)
_CAPABILITIES_VERSION = 0x20080522
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # system calls, on every architecture
_READ_FILE, _READ_FOLDER, _WRITE_FILE, _TRUNCATE = 1 << 2, 1 << 3, 1 << 1, 1 << 14
_FILE_RIGHTS = 0b111 | _TRUNCATE | 1 << 15  # execute, write, read, truncate, device control
_RIGHTS_BY_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
# What Python and its libraries read of the system; of /etc nothing else, and of /dev no terminal.
_SYSTEM = (
    *("/usr", "/lib", "/lib64", "/bin", "/sys/devices/system"),
    *("/dev/zero", "/dev/random", "/dev/urandom"),
    *("/etc/localtime", "/etc/timezone", "/etc/ld.so.cache", "/etc/ld.so.conf"),
    *("/etc/ld.so.conf.d", "/etc/mime.types"),
)
# Where /proc shows processes of others: what it says of the machine, and of the worker itself.
_OF_OTHERS_PROC = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo")
PATIENCE_WITH_WRITERS = 10  # seconds; they take less than one, on a busy machine too
SCRATCH_SIZE = "size=128m,nr_inodes=2000"  # of all that a notebook writes
MAX_PROCESSES = 64  # and threads; those of root, whom the kernel does not limit, `warden` counts


def enter_namespaces() -> bool:
    """Leave the host's processes, network and users behind. Call it before any thread is started.

    The next child that is forked is process 1 of its own world: when it ends, all that it has
    started ends with it. There is no network but a loopback that is switched off.
    """
    if sys.platform != "linux":
        return False
    user, group = os.getuid(), os.getgid()
    worlds = _NEW_USER | _NEW_PROCESSES | _NEW_NETWORK | _NEW_IPC | _NEW_MOUNTS
    if _libc().unshare(worlds) != 0:
        return False
    try:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    except OSError:  # the walls stand all the same; the user is shown as nobody
        pass
    return True


def freeze_mounts(scratch: str) -> bool:
    """Nothing can be changed any more, no mode and no date, but in `scratch`, which is bounded.

    /proc shows the new world only; where the kernel refuses that, as it does where parts of the
    host's /proc are masked, this wall does not stand. For the first process of the new namespaces;
    what it may do with them is given up afterwards.
    """
    libc = _libc()
    if libc.mount(None, b"/", None, _RECURSIVE | _PRIVATE, None) != 0:
        return False
    attributes = struct.pack("<4Q", _READ_ONLY, 0, 0, 0)
    root = (_MOUNT_SETATTR, _AT_CWD, b"/", _AT_RECURSIVE, attributes, len(attributes))
    deadline = time.monotonic() + PATIENCE_WITH_WRITERS
    while libc.syscall(*root) != 0:
        # Refused while anybody in the new world writes a file: the warden, one line in /proc, say.
        if ctypes.get_errno() != errno.EBUSY or time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    place, quiet = os.fsencode(scratch), _NO_SUID | _NO_DEVICES | _NO_EXEC
    bounded = libc.mount(b"tmpfs", place, b"tmpfs", quiet, SCRATCH_SIZE.encode()) == 0
    its_own = libc.mount(b"proc", b"/proc", b"proc", quiet | _READ_ONLY, None) == 0
    return bounded and its_own


def be_ended_first() -> None:
    """Where memory runs out, let the kernel end this process and what it starts before any other.

    Call it while /proc can still be written.
    """
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def limit_processes() -> None:
    """Few processes may be started; only within namespaces, where no other work is counted."""
    resource.setrlimit(resource.RLIMIT_NPROC, (MAX_PROCESSES, MAX_PROCESSES))


def limit_memory(size: int) -> None:
    """At most `size` bytes of address space for this process, where the system lets us."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def give_up_powers() -> None:
    """No capability is left: neither within the namespaces nor, where there are none, root's."""
    if sys.platform != "linux":
        return
    header = struct.pack("<Ii", _CAPABILITIES_VERSION, 0)
    if _libc().capset(header, bytes(24)) != 0:
        raise OSError(ctypes.get_errno(), "the capabilities cannot be given up")


def die_with_parent() -> None:
    """Ask the kernel to kill this process when the one that started it ends."""
    if sys.platform == "linux":
        _libc().prctl(_PARENT_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)


def restrict_files(scratch: str, hidden: Sequence[Path], own_proc: bool) -> bool:
    """Only `scratch` may be written; only the system, Python and its libraries may be read.

    hidden: folders that cannot be read even where they lie among the libraries. own_proc: whether
    /proc shows no process outside; if it does, theirs cannot be opened. Nothing can be executed
    any more, nor, on newer kernels, a TCP connection made or a process outside signalled.
    """
    if sys.platform != "linux":
        return False
    libc = _libc()
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
        for folder, rights in _allowed(scratch, hidden, own_proc, handled):
            _allow(libc, rules, folder, rights & handled)
        if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
            return False
        return bool(libc.syscall(_RESTRICT_SELF, rules, 0) == 0)
    finally:
        os.close(rules)


def _allowed(
    scratch: str, hidden: Sequence[Path], own_proc: bool, everything: int
) -> Iterator[tuple[Path, int]]:
    read = _READ_FILE | _READ_FOLDER
    yield Path(scratch), everything
    yield Path(os.devnull), _READ_FILE | _WRITE_FILE | _TRUNCATE
    secret = [path.resolve() for path in hidden]
    of_proc = ("/proc",) if own_proc else _OF_OTHERS_PROC
    roots = {*map(Path, (*_SYSTEM, *of_proc)), Path(sys.prefix), Path(sys.base_prefix)}
    for root in sorted(root.resolve() for root in roots if root.exists()):
        for path in without(root, secret):
            yield path, read
        yield root, _READ_FOLDER  # imports list folders; names alone give nothing away


def without(root: Path, hidden: Sequence[Path]) -> list[Path]:
    """The paths that together hold all of `root` but the hidden ones."""
    if any(root.is_relative_to(one) for one in hidden):
        return []
    if not any(one.is_relative_to(root) for one in hidden):
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


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
