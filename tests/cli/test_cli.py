"""What all commands of the program share: how a wrong call is refused, how soon help comes."""

import argparse
import ast
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from annotated_transformer import cli
from annotated_transformer.cli import COMMANDS, MODULES, main

# A call in a process of its own, which then says what it has loaded and taken.
CALL = """
import sys, time
from annotated_transformer.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(time.process_time(), *{"torch", "numpy"} & sys.modules.keys(), file=sys.stderr)
"""


def called(*words: str) -> tuple[str, float, set[str]]:
    """What a call prints, its processor seconds, and which of torch and numpy it has loaded."""
    command = [sys.executable, "-c", CALL, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, *loaded = done.stderr.split()
    return done.stdout, float(seconds), set(loaded)


def test_help_comes_at_once():
    tried = [called("--help") for _ in range(3)]
    said, _, loaded = tried[0]
    assert not loaded
    assert COMMANDS.keys() <= set(said.split())
    assert min(seconds for _, seconds, _ in tried) < 0.25


@pytest.mark.parametrize("call", [*([command, "--help"] for command in COMMANDS), ["data", "list"]])
def test_what_computes_nothing_needs_no_pytorch(call):
    said, _, loaded = called(*call)
    assert said
    assert "torch" not in loaded


def test_every_module_that_is_a_command_is_named_with_its_help():
    named = {module: command for command, module in MODULES.items()}
    found = {
        named.get(path.stem, path.stem)
        for path in Path(cli.__file__).parent.glob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name == "register"
    }
    assert found == set(COMMANDS)
    assert all(COMMANDS.values())


@pytest.mark.parametrize(
    ("call", "command", "said"),
    [
        (["translate", "--bem", "3"], "translate", "no option --bem; did you mean --beam?"),
        (["translate", "--bem=3"], "translate", "no option --bem; did you mean --beam?"),
        (["progress", "--zz"], "progress", "no option --zz; --help lists what there is."),
        (["data", "get", "grammar", "--fromat"], "data get", "did you mean --format?"),
        (["train", "--run-dri", "x"], "train", "no option --run-dri; did you mean --run-dir?"),
        (["average", "--format", "json"], "average", "no option --format; --help lists what there"),
        (["ledger", "check", "a=b"], "ledger check", "'a=b' was given where nothing is expected"),
        (["translate", "A.", "--beam", "2", "B."], "translate", "'B.' was given where nothing"),
        (["translate", "A.", "-Hello", "--zz"], "translate", "there is no option --zz;"),
    ],
)
def test_an_unknown_option_is_refused_by_the_command_that_it_was_given_to(
    call, command, said, capsys
):
    with pytest.raises(SystemExit) as ended:
        main(call)
    assert ended.value.code == 2
    complaint = capsys.readouterr().err
    assert f"usage: annotated-transformer {command} " in complaint
    assert f"annotated-transformer {command}: error: " in complaint
    assert said in complaint


def test_an_unknown_option_before_the_command_is_the_programs(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--versoin", "translate"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "annotated-transformer: error: there is no option --versoin; did you mean --v" in said


def test_what_looks_like_an_option_and_is_none_goes_through(capsys):
    assert main(["translate", "--max", "5", "--prefix=--x", "-- hello", "--", "--bem"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk is always full here")
@pytest.mark.parametrize("call", [["museum"], ["data", "list"], ["data", "list", "--format=json"]])
def test_a_full_disk_is_said_in_a_sentence(call):
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "annotated_transformer.cli", *call],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 1
    assert "No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr


def fails_with(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> None:
    """Whatever is called does this work."""
    parser = argparse.ArgumentParser()
    parser.set_defaults(run=lambda _: work())
    monkeypatch.setattr(cli, "build_parser", lambda _: parser)


def gpu_is_full():
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 1 GiB.")


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (gpu_is_full, "for this (2.00 GiB more). Close"),
        (lambda: torch.empty(2**55), f"for this ({2**57} bytes more). Close"),
        (lambda: bytearray(2**60), "for this. Close"),
    ],
    ids=["gpu", "torch", "python"],
)
def test_too_little_memory_is_said_in_a_sentence(work, said, monkeypatch, capsys):
    fails_with(monkeypatch, work)
    assert main([]) == 1
    told = capsys.readouterr().err
    assert said in told
    assert "ask for less at once" in told
    assert told.count("\n") == 1


def test_another_error_of_torch_is_not_taken_for_it(monkeypatch):
    fails_with(monkeypatch, lambda: torch.ones(2) @ torch.ones(3))
    with pytest.raises(RuntimeError, match="inconsistent tensor size"):
        main([])
