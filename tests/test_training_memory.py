"""The C library keeps what tensors give back, so that the next ones need no new pages."""

import os
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


PRODUCTS = """
import sys, torch
from annotated_transformer.training.memory import keep_prepared_products
if sys.argv[1] == "keep":
    keep_prepared_products(2)
for _ in range(2):
    for width in range(16, 16 + 1500):
        torch.ones(16, width, dtype=torch.bfloat16) @ torch.ones(width, 16, dtype=torch.bfloat16)
"""


def test_the_products_of_several_models_stay_prepared(monkeypatch):
    """1,500 shapes, twice: oneDNN by itself keeps the last 1,024, so it finds none again."""
    monkeypatch.delenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", raising=False)
    monkeypatch.setenv("ONEDNN_VERBOSE", "profile_create")
    found = {}
    for what in ("keep", "leave"):
        command = [sys.executable, "-c", PRODUCTS, what]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        if "create:cache_miss" not in done.stdout:
            pytest.skip("products of this processor are not made by oneDNN")
        found[what] = done.stdout.count("create:cache_hit")
    assert found["leave"] < 100 < 1400 < found["keep"]


def test_a_number_of_products_that_is_given_is_left(monkeypatch):
    monkeypatch.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "7")
    memory.keep_prepared_products(16)
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == "7"
