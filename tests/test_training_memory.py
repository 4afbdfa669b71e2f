"""The C library keeps what tensors give back, so that the next ones cost no page faults."""

import platform
import subprocess
import sys

import pytest

from annotated_transformer.training import memory

BLOCKS = """
import resource, sys, torch
from annotated_transformer.training.memory import keep_freed_memory
if sys.argv[1] == "keep":
    assert keep_freed_memory()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
torch.zeros(40 << 18)  # 40 MiB
before = faults()
for _ in range(20):
    torch.zeros(40 << 18)
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_large_blocks_are_taken_from_the_system_once() -> None:
    def faults(how: str) -> int:
        command = [sys.executable, "-c", BLOCKS, how]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    kept, left = faults("keep"), faults("leave")
    assert left > 300  # 20 blocks of 10,240 pages, or of 20 huge ones
    assert kept < left / 10  # none, or those of one block where the first was too small to serve


def test_another_system_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.sys, "platform", "darwin")
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: pytest.fail("nothing to ask"))
    assert not memory.keep_freed_memory()


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.sys, "platform", "linux")
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: object())
    assert not memory.keep_freed_memory()
