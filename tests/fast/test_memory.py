"""The C library keeps what tensors give back, so that the next ones need no new pages."""

import platform
import subprocess
import sys

import pytest

from annotated_transformer.fast import memory

BLOCKS = """
import resource, sys, torch
import annotated_transformer.training.trainer  # as in a process that trains
from annotated_transformer.fast.memory import keep_freed_memory
if sys.argv[1] == "keep":
    assert keep_freed_memory()
def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()
torch.ones(40 << 18)  # 40 MiB; what the first tensor of a process loads is not counted
before = resident()
for _ in range(12):
    largest = torch.ones(80 << 18)  # 80 MiB
    during = resident()
    del largest
print(during - before, resident() - before)
"""
MIB = 2**20


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_freed_blocks_stay_with_the_process_and_serve_again() -> None:
    """The next tensor finds its pages there; otherwise the system would hand them out anew."""

    def held(how: str) -> tuple[int, int]:
        command = [sys.executable, "-c", BLOCKS, how]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        during, after = map(int, said.split())
        return during, after

    during, after = held("keep")
    # Twelve of 80 MiB were made, 960 in all. The 40 may serve or not, and a small block that comes
    # to lie behind a large one can keep it from serving at once.
    assert 30 * MIB < during < 4 * 80 * MIB
    assert after > during - 10 * MIB
    during, after = held("leave")
    assert 70 * MIB < during < 100 * MIB
    assert after < 10 * MIB


def test_another_system_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.sys, "platform", "darwin")
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: pytest.fail("nothing to ask"))
    assert not memory.keep_freed_memory()


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.sys, "platform", "linux")
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: object())
    assert not memory.keep_freed_memory()
