"""The system calls that no exercise needs, denied by a filter of the kernel's (seccomp). For Linux.

Namespaces, mounts and Landlock leave doors: a UNIX socket with a path leads out of every namespace,
a process may take itself out of its group, or set the limits of another. The filter closes them. It
cannot be taken off again, and whatever the process forks has it too. Standard library only.
References: seccomp(2), prctl(2), clone(2), <linux/audit.h>, the kernel's tables of system calls.
"""

import ctypes
import errno
import platform
import struct
import sys

# Name: its number on x86-64 and on aarch64; from 424 on they are the same everywhere.
_DENIED = {
    # other processes by socket, also those that no namespace hides; no channel is lost: the worker
    # reads and writes the socket that it was given
    "socket": (41, 198),
    "connect": (42, 203),
    "accept": (43, 202),
    "sendto": (44, 206),
    "recvfrom": (45, 207),
    "sendmsg": (46, 211),
    "recvmsg": (47, 212),
    "shutdown": (48, 210),
    "bind": (49, 200),
    "listen": (50, 201),
    "getsockname": (51, 204),
    "getpeername": (52, 205),
    "socketpair": (53, 199),
    "setsockopt": (54, 208),
    "getsockopt": (55, 209),
    "accept4": (288, 242),
    "recvmmsg": (299, 243),
    "sendmmsg": (307, 269),
    # other processes by number
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # out of the group by which the marker ends them all
    "setpgid": (109, 154),
    "setsid": (112, 157),
    # other programs
    "execve": (59, 221),
    "execveat": (322, 281),
    # memory that no limit counts, or that others share
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    # also where somebody else has made it already
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "mq_timedsend": (242, 182),
    "mq_timedreceive": (243, 183),
    "mq_notify": (244, 184),
    "mq_getsetattr": (245, 185),
    # what makes others wait: for all disks, or for a lock on a file that may be read
    "sync": (162, 81),
    "syncfs": (306, 267),
    "flock": (73, 32),
    # another view of files or of the system
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    # the kernel's large and rarely used rooms
    "io_setup": (206, 0),
    "io_submit": (209, 2),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "personality": (135, 92),
    "syslog": (103, 116),
    # the machine itself
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "vhangup": (153, 58),
}
# Owners, modes, dates and attributes of files: nothing but a read-only mount protects those.
_CHANGES_FILES = {
    "x86_64": (
        *(90, 91, 92, 93, 94, 260, 268, 452),  # chmod and chown in all their forms
        *(132, 235, 261, 280),  # utime
        *(188, 189, 190, 197, 198, 199),  # setxattr, removexattr
    ),
    "aarch64": (*(52, 53, 54, 55, 452), 88, *(5, 6, 7, 14, 15, 16)),
}
_X86_64_ONLY = {"modify_ldt": 154, "iopl": 172, "ioperm": 173}
_LATEST = 462  # a call with a higher number is not known here, and so not had
_CLONE3 = 435  # its flags lie in memory, where no filter looks; without it libc takes clone
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column, audit's number

_LOAD, _EQUAL, _ANY_BIT, _GREATER, _RETURN = 0x20, 0x15, 0x45, 0x25, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # where they lie in `struct seccomp_data`
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_REFUSE, _UNKNOWN = _ERROR | errno.EPERM, _ERROR | errno.ENOSYS
_SET_FILTER, _ALL_THREADS, _NO_NEW_PRIVILEGES = 1, 1, 38
_SECCOMP = {"x86_64": 317, "aarch64": 277}

_NEW_WORLDS = 0x7E020000 | 0x8000  # clone: every namespace, and a sibling in place of a child
_PARENT_DEATH_SIGNAL, _SUBREAPER = 1, 36  # prctl
_SIGNALS_TO = (8, 10, 15)  # fcntl: who gets signals for a descriptor, and which
_SIGNALS_TO_BY_IOCTL = (0x8901, 0x8902)
_TYPES_INTO_A_TERMINAL = (0x5412, 0x541C)
_NEGATIVE = 0x80000000

Instruction = tuple[int, int, int, int]  # code, steps to skip if true, if false, constant


def deny_system_calls(may_signal: bool, may_change_files: bool) -> bool:
    """Put the filter on this process, all its threads and all that it forks; does it stand?

    may_signal: whether it may signal single processes, which is harmless where it sees only its
    own. may_change_files: whether modes and dates may be changed, harmless behind read-only mounts.
    """
    machine = platform.machine()
    if sys.platform != "linux" or machine not in _ARCHITECTURES or sys.maxsize < 2**32:
        return False
    instructions = program(machine, may_signal, may_change_files)
    code = b"".join(struct.pack("<HBBI", *one) for one in instructions)
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_ = struct.pack("@HP", len(instructions), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return False
    return bool(libc.syscall(_SECCOMP[machine], _SET_FILTER, _ALL_THREADS, filter_) == 0)


def program(machine: str, may_signal: bool, may_change_files: bool) -> list[Instruction]:
    """The filter: for each call what becomes of it; whatever is not named is allowed."""
    column, architecture = _ARCHITECTURES[machine]
    clone, prctl, fcntl, ioctl, prlimit, affinity, kill, tkill, tgkill = (
        (numbers[column])
        for numbers in (
            *((56, 220), (157, 167), (72, 25), (16, 29), (302, 261), (203, 122)),
            *((62, 129), (200, 130), (234, 131)),
        )
    )
    found = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),  # a call by the numbers of another architecture
        (_LOAD, 0, 0, _NUMBER),
        (_GREATER, 0, 1, _LATEST),
        (_RETURN, 0, 0, _UNKNOWN),
        (_EQUAL, 0, 1, _CLONE3),
        (_RETURN, 0, 0, _UNKNOWN),
    ]
    denied = [numbers[column] for numbers in _DENIED.values()]
    denied += _X86_64_ONLY.values() if machine == "x86_64" else ()
    denied += [] if may_signal else [kill, tkill, tgkill]
    denied += [] if may_change_files else _CHANGES_FILES[machine]
    for number in denied:
        found += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE)]
    terminals = (*_SIGNALS_TO_BY_IOCTL, *_TYPES_INTO_A_TERMINAL)
    found += _where(clone, 0, bits=_NEW_WORLDS)
    found += _where(prctl, 0, values=(_PARENT_DEATH_SIGNAL, _SUBREAPER))
    found += _where(fcntl, 1, values=_SIGNALS_TO)
    found += _where(ioctl, 1, values=terminals)
    found += _where(prlimit, 0, unless=0)  # 0: of the caller itself
    found += _where(affinity, 0, unless=0)
    for number in (kill, tkill, tgkill) if may_signal else ():
        found += _where(number, 0, values=(0,), bits=_NEGATIVE)  # whole groups
    return [*found, (_RETURN, 0, 0, _ALLOW)]


def _where(
    number: int,
    argument: int,
    values: tuple[int, ...] = (),
    bits: int = 0,
    unless: int | None = None,
) -> list[Instruction]:
    """A call refused where its argument is one of `values`, has any of `bits`, is not `unless`."""
    tests: list[Instruction] = []
    for value in values:
        tests += [(_EQUAL, 0, 1, value), (_RETURN, 0, 0, _REFUSE)]
    if bits:
        tests += [(_ANY_BIT, 0, 1, bits), (_RETURN, 0, 0, _REFUSE)]
    if unless is not None:
        tests += [(_EQUAL, 1, 0, unless), (_RETURN, 0, 0, _REFUSE)]
    body = [(_LOAD, 0, 0, _ARGUMENTS + 8 * argument), *tests, (_RETURN, 0, 0, _ALLOW)]
    return [(_EQUAL, 0, len(body), number), *body]
