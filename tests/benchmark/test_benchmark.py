"""The benchmark times what it says: the same task for everybody, whole steps, honest ratios."""

import json
import math
import os
import re
import signal
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest
import torch
from torch import nn
from torch.nn import functional

from annotated_transformer.benchmark import contestants as benchmark_contestants
from annotated_transformer.benchmark import peers, processes
from annotated_transformer.benchmark.contestants import (
    COMPILED,
    OURS,
    OURS_BYTE_DROPOUT,
    OURS_SHARED_ROWS,
    PEERS,
    Contestant,
    Entry,
    Task,
    Turn,
    line_up,
)
from annotated_transformer.benchmark.counting import real_sizes, step_operations
from annotated_transformer.benchmark.processes import OwnProcess
from annotated_transformer.benchmark.training import (
    KEPT,
    TrainingReport,
    as_text,
    measure_training,
    together,
)
from annotated_transformer.cli import main
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import EncodedSplit, Vocabulary, encode_split, generate_corpus
from annotated_transformer.errors import WorkError
from annotated_transformer.fast.byte_dropout import ByteDropout

CPU = torch.device("cpu")
SMALL = TransformerConfig(
    vocab_size=300, d_model=32, d_ff=64, num_heads=4, num_layers=2, dropout=0.0
)


@pytest.fixture(scope="module")
def split() -> EncodedSplit:
    train = generate_corpus(train=300, valid=10, test=10)["train"]
    return encode_split(train, Vocabulary.train([*train.source, *train.target], 300))


def pairs(split: EncodedSplit) -> tuple[torch.Tensor, torch.Tensor]:
    """Six pairs of unequal lengths, padded."""
    indices = sorted(range(len(split)), key=lambda i: split.lengths[i])[::50]
    rows = [[side[i] for i in indices] for side in (split.source, split.target)]
    padded = [
        nn.utils.rnn.pad_sequence([torch.tensor(r) for r in side], batch_first=True)
        for side in rows
    ]
    return padded[0], padded[1]


@pytest.mark.parametrize("name", PEERS)
def test_padding_changes_nobodys_loss(name: str, split: EncodedSplit) -> None:
    torch.manual_seed(0)
    peer = PEERS[name](SMALL).double().eval()
    src, tgt = pairs(split)
    assert (src == 0).any()
    assert (tgt == 0).any()
    loss = peer(src, tgt)
    wider = peer(functional.pad(src, (0, 5)), functional.pad(tgt, (0, 3)))
    assert wider.item() == pytest.approx(loss.item(), rel=1e-9)


@pytest.mark.parametrize("name", PEERS)
def test_nobody_sees_the_future(
    name: str, split: EncodedSplit, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[torch.Tensor] = []

    def keep(*given: torch.Tensor) -> torch.Tensor:
        (scores,) = (x for x in given if isinstance(x, torch.Tensor) and x.size(-1) == 300)
        seen.append(scores.detach().reshape(-1, 300))
        return scores.sum()

    monkeypatch.setattr(peers, "cross_entropy", keep)
    monkeypatch.setattr(peers.AnnotatedPeer, "divergence", lambda self, *given: keep(*given))
    torch.manual_seed(0)
    peer = PEERS[name](SMALL).double().eval()
    src, tgt = (side[-1:] for side in pairs(split))
    changed = tgt.clone()
    changed[0, 4] = 5 if tgt[0, 4] != 5 else 6  # position 4 of what the decoder reads
    for target in (tgt, changed):
        peer(src, target)
    before, after = seen  # (n_tgt, 300)
    assert torch.equal(before[:4], after[:4])
    assert not torch.allclose(before[4:], after[4:])


def test_who_is_named_takes_part_once_more_compiled() -> None:
    names = list(PEERS)[1:]
    for device in (CPU, torch.device("cuda")):
        everybody = [one.name for one in line_up(device, compiled=names)]
        plain = [name for name in everybody if COMPILED not in name]
        again = [name.removesuffix(COMPILED) for name in everybody if COMPILED in name]
        assert plain == [one.name for one in line_up(device)]
        ours = OURS if device == CPU else OURS_SHARED_ROWS
        assert again == [name for name in plain if name in (ours, *names)]


def test_only_who_is_asked_for_takes_part() -> None:
    name = next(iter(PEERS))
    everybody = line_up(CPU, precisions=("bf16",), peers=[name])
    assert [(one.name, one.precision, one.peer) for one in everybody] == [
        (OURS, "bf16", ""),
        (OURS_BYTE_DROPOUT, "bf16", ""),
        (name, "bf16", name),
    ]


def test_only_this_package_has_the_allocator_of_train(
    split: EncodedSplit, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(benchmark_contestants, "keep_freed_memory", lambda: asked.append("kept"))
    for entry in line_up(CPU, precisions=("fp32",)):
        asked.clear()
        Contestant(entry, Task(SMALL, split, 512, CPU))
        assert bool(asked) is (entry.peer == "")


@pytest.mark.slow
@pytest.mark.slow
def test_a_compiled_peer_takes_the_same_steps(split: EncodedSplit) -> None:
    torch.compiler.reset()
    losses = []
    for compiled in (False, True):
        torch.manual_seed(0)
        peer = peers.TorchPeer(replace(SMALL, num_layers=1))
        if compiled:
            peers.compile_peer(peer)
        batches = [range(20), range(15, 30)]
        task = Task(SMALL, split, 512, CPU)
        step = benchmark_contestants.peer_step(peer, task, batches, "fp32")
        losses.append([step(number) for number in (0, 1, 0)])
    assert losses[1] == pytest.approx(losses[0], abs=1e-4)
    assert losses[0][2] < losses[0][0]


@pytest.mark.parametrize("precision", ["fp32", pytest.param("bf16", marks=pytest.mark.slow)])
def test_everybody_learns_the_same_batch(
    precision: str, split: EncodedSplit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our loss and the peers' are one quantity: the start is near ln V, and all fall."""
    only = [list(range(40))]
    monkeypatch.setattr(benchmark_contestants, "token_batches", lambda *_, **__: only)
    entries = [one for one in line_up(CPU) if one.precision == precision]
    assert [one.name for one in entries] == [OURS, OURS_BYTE_DROPOUT, *PEERS]
    for entry in entries:
        torch.manual_seed(0)
        one = Contestant(entry, Task(SMALL, split, 512, CPU))
        losses = [turn.loss for turn in one.turn(range(26))]
        assert 0.5 * math.log(300) < losses[0] < 2 * math.log(300), entry.name
        assert min(losses) < losses[0] - 0.02, entry.name


def test_the_row_at_the_defaults_has_pytorchs_dropout(
    split: EncodedSplit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte dropout is a departure that the peers do not have: only the row that names it does."""
    built: list[nn.Module] = []
    build = benchmark_contestants.build_model

    def keep(*given: Any) -> nn.Module:
        built.append(build(*given))
        return built[-1]

    monkeypatch.setattr(benchmark_contestants, "build_model", keep)
    ours = [one for one in line_up(CPU) if not one.peer]
    for entry in ours:
        Contestant(entry, Task(replace(SMALL, dropout=0.1), split, 512, CPU))
    departs = [any(isinstance(part, ByteDropout) for part in model.modules()) for model in built]
    assert departs == [one.name == OURS_BYTE_DROPOUT for one in ours]
    assert departs == [False, False, True, True]


def test_a_turn_counts_its_own_pairs(split: EncodedSplit) -> None:
    """Real tokens of both sides, and the operations of our model for them, of every batch."""
    one = Contestant(line_up(CPU)[0], Task(SMALL, split, 512, CPU))
    turns = one.turn([1, len(one.batches) + 1])
    pairs = one.batches[1]
    tokens = sum(sum(split.lengths[index]) for index in pairs)
    operations = step_operations(SMALL, real_sizes(split, pairs))
    assert [(turn.tokens, turn.operations) for turn in turns] == [(tokens, operations)] * 2
    assert all(turn.rate == turn.tokens / turn.seconds for turn in turns)
    whole = together(turns)
    assert (whole.tokens, whole.operations) == (2 * tokens, 2 * operations)
    assert whole.seconds == turns[0].seconds + turns[1].seconds
    assert whole.loss == turns[1].loss


class Clockwork:
    """A contestant of known speed: seconds a step by its name and precision."""

    seconds: ClassVar[dict[tuple[str, str], list[float]]] = {}
    log: ClassVar[list[tuple[str, str, tuple[int, ...]]]] = []
    alive: ClassVar[list[tuple[str, str]]] = []

    def __init__(self, entry: Entry, task: Task) -> None:
        self.key = entry.name, entry.precision
        assert entry.keeps_memory is (entry.peer == "" or KEPT in entry.name)
        if entry.peer == "Hugging Face Marian":
            raise ImportError("not here")
        self.alive.append(self.key)

    def turn(self, numbers: Sequence[int]) -> list[Turn]:
        self.log.append((*self.key, tuple(numbers)))
        took = self.seconds.get(self.key, [4.0])
        loss = float(len(self.key[0]))
        return [Turn(took[number % len(took)], 1000, 10**9, loss) for number in numbers]

    def peak(self, precision: str) -> float:
        return {"fp32": 1e9, "bf16": 2e9}[precision]

    def close(self) -> None:
        self.alive.remove(self.key)


@pytest.fixture
def clockwork(monkeypatch: pytest.MonkeyPatch) -> type[Clockwork]:
    monkeypatch.setattr(Clockwork, "seconds", {})
    monkeypatch.setattr(Clockwork, "log", [])
    monkeypatch.setattr(Clockwork, "alive", [])
    return Clockwork


def measure(split: EncodedSplit, **given: Any) -> TrainingReport:
    """Two rounds of three steps after two to warm up."""
    return measure_training("tiny", split, 300, 512, 2, CPU, warm_up=2, **given)


def test_everybody_is_compared_with_our_faster_precision(
    split: EncodedSplit, clockwork: type[Clockwork]
) -> None:
    name = "torch.nn.Transformer"
    clockwork.seconds = {
        (OURS, "fp32"): [3.0],
        (OURS, "bf16"): [1.0],
        (name, "fp32"): [2.0, 2.0, 2.0, 5.0, 5.0, 5.0],  # the second of its rounds begins with 5
        (name, "bf16"): [6.0],
        (name + KEPT, "fp32"): [1.5],
    }
    report = measure(split, start=clockwork)
    by_key = {(one.name, one.precision): one for one in report.speeds}
    first = report.speeds[0]
    assert (first.name, first.precision, first.ours_is) == (OURS, "bf16", 1)
    assert first.tokens_per_second == 1000
    assert all(one.loss == len(one.name) for one in report.speeds)
    assert by_key[name, "fp32"].tokens_per_second == pytest.approx(1000 / 3.5)
    assert by_key[name, "fp32"].low < by_key[name, "fp32"].ours_is < by_key[name, "fp32"].high
    assert by_key[OURS, "fp32"].ours_is == 3
    assert by_key[name, "fp32"].ours_is == pytest.approx((3 + 4) / 2)  # 2, 2, 5 and 5, 5, 2
    assert by_key[name + KEPT, "fp32"].ours_is == 1.5  # in the precision that was faster without
    assert (name + KEPT, "bf16") not in by_key
    assert report.missing == ["Hugging Face Marian"]
    assert report.share_of_peak[OURS] == {
        "bf16": pytest.approx(10**9 / 2e9),
        "fp32": pytest.approx(10**9 / 3 / 1e9),
    }
    assert report.operations == 10**9
    assert not clockwork.alive
    text = "\n".join(as_text(report))
    assert text.count("this row is its best") == 1
    assert re.search(r"Hugging Face Marian +not installed", text)
    assert "2 turns of 3 steps in turn with this package" in text
    written = json.loads(json.dumps(report.to_dict()))
    assert written["speeds"][0]["name"] == OURS


def test_the_sides_take_turns_on_the_same_numbers(
    split: EncodedSplit, clockwork: type[Clockwork]
) -> None:
    """Each turn begins with a step that does not count, and the sides begin in turn."""
    clockwork.seconds = {(OURS, "bf16"): [1.0]}
    measure(split, start=clockwork, peers=["torch.nn.Transformer"], precisions=("bf16",))
    theirs, ours = ("torch.nn.Transformer", "bf16"), (OURS, "bf16")
    first, second = (1, 2, 3, 4), (4, 5, 6, 7)
    begins = clockwork.log.index((*theirs, (0, 1)))
    of_pair = clockwork.log[begins + 1 : begins + 5]
    assert of_pair == [(*theirs, first), (*ours, first), (*ours, second), (*theirs, second)]


def test_on_a_gpu_all_are_compared_with_our_fastest_row(
    split: EncodedSplit, clockwork: type[Clockwork]
) -> None:
    clockwork.seconds = {(OURS_SHARED_ROWS, "bf16"): [1.0], (OURS, "bf16"): [2.0]}
    report = measure_training(
        "tiny", split, 300, 512, 1, torch.device("cuda"), warm_up=1, start=clockwork
    )
    assert report.speeds[0].name == OURS_SHARED_ROWS
    assert not any(KEPT in one.name for one in report.speeds)


def test_one_who_fails_leaves_the_others_their_rows(
    split: EncodedSplit, clockwork: type[Clockwork]
) -> None:
    class Failing(Clockwork):
        def turn(self, numbers: Sequence[int]) -> list[Turn]:
            if self.key == ("torch.nn.Transformer", "bf16"):
                raise WorkError("it failed:\nTraceback\nOutOfMemoryError: too much")
            return super().turn(numbers)

    report = measure(split, start=Failing)
    assert report.failed == {"torch.nn.Transformer in bf16": "OutOfMemoryError: too much"}
    assert ("torch.nn.Transformer", "fp32") in {(one.name, one.precision) for one in report.speeds}
    assert "failed: OutOfMemoryError" in "\n".join(as_text(report))
    assert not clockwork.alive


def test_a_stop_reports_the_rounds_that_were_whole(
    split: EncodedSplit, clockwork: type[Clockwork]
) -> None:
    def stop(what: str, done: int, of: int) -> None:
        if what.startswith("tiny, torch.nn.Transformer in fp32"):
            signal.raise_signal(signal.SIGTERM)

    report = measure(split, start=clockwork, progress=stop)
    assert [one.name for one in report.speeds][-2:] == [OURS_BYTE_DROPOUT, "torch.nn.Transformer"]
    assert not clockwork.alive

    def at_once(entry: Entry, task: Task) -> Clockwork:
        signal.raise_signal(signal.SIGINT)
        return clockwork(entry, task)

    with pytest.raises(WorkError, match="SIGINT came before the first round was whole"):
        measure(split, start=at_once)
    assert not clockwork.alive


def test_a_contestant_has_a_process_of_its_own(split: EncodedSplit) -> None:
    """The same steps as here; killed, it is said, and whoever asks is not kept waiting."""
    entry, task = line_up(CPU)[0], Task(SMALL, split, 512, CPU)
    other = OwnProcess(entry, task)
    try:
        assert other._process.pid != os.getpid()
        there, here = other.turn([0, 1, 2]), Contestant(entry, task).turn([0, 1, 2])
        assert [turn.loss for turn in there] == pytest.approx([turn.loss for turn in here], 1e-5)
        assert [turn.tokens for turn in there] == [turn.tokens for turn in here]
        assert other.peak("fp32") > 1e6
        for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # they are for who asks
            os.kill(other._process.pid or 0, ignored)
        assert len(other.turn([3])) == 1
        os.kill(other._process.pid or 0, signal.SIGKILL)
        with pytest.raises(WorkError, match=r"this package in fp32 ended .* with exit code -9"):
            other.turn([3])
    finally:
        other.close()
    assert not other._process.is_alive()


def test_what_fails_in_another_process_is_said_here(
    split: EncodedSplit, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = replace(line_up(CPU)[0], settings={"precision": "fp8"})
    task = Task(SMALL, EncodedSplit(*[[[5] * 50_000] * 9] * 2, range(9), 0), 512, CPU)
    with monkeypatch.context() as broken:
        broken.setattr(processes, "serve", os._exit)  # dies before it has read its task
        with pytest.raises(WorkError, match="ended before it answered, with exit code"):
            OwnProcess(entry, task)
    with pytest.raises(WorkError, match=r"this package in fp32 failed:\nTraceback(.|\n)*TypeError"):
        OwnProcess(entry, Task(SMALL, split, 512, CPU))


def test_command_says_what_it_can_measure(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["benchmark", "cooking"])
    assert ended.value.code == 2
    assert "training" in capfd.readouterr().err
