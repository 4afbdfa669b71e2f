"""Sentences that share rows: every pair once, each token where it belongs, the same gradient."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from annotated_transformer import Transformer, TransformerConfig
from annotated_transformer.cli import main
from annotated_transformer.data import EncodedSplit, make_batch
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.likelihood import teacher_forced
from annotated_transformer.fast.attach import use_fast_paths
from annotated_transformer.fast.projected_loss import GPU_CHUNK, loss_chunk
from annotated_transformer.fast.shared_rows import (
    RowShape,
    SharedRowBatch,
    same_sentence_mask,
    shared_row_batch,
    shared_row_batches,
    shared_row_waste,
    teacher_forced_in_shared_rows,
)
from annotated_transformer.training import RunDirectory, TrainingConfig
from annotated_transformer.training.departures import training_departures
from annotated_transformer.training.loading import Loader
from annotated_transformer.training.progress import Progress
from annotated_transformer.training.run_directory import RunConfig
from annotated_transformer.training.step import Part, add_gradients, batch_loss
from annotated_transformer.training.trainer import Trainer

PAD, BOS, EOS = 0, 1, 2
VOCABULARY = 40


def invented(lengths: list[tuple[int, int]], seed: int = 0) -> EncodedSplit:
    """Pairs of random tokens, of these (source, target) lengths as the model sees them."""
    random = np.random.default_rng(seed)
    source = [[*random.integers(3, VOCABULARY, n - 1).tolist(), EOS] for n, _ in lengths]
    target = [[BOS, *random.integers(3, VOCABULARY, n - 1).tolist(), EOS] for _, n in lengths]
    return EncodedSplit(source, target, range(len(lengths)), 0)


some_lengths = st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=1, max_size=60)


@given(some_lengths, st.integers(64, 300), st.integers(0, 3), st.integers(0, 3))
def test_every_pair_is_in_one_batch_and_fits(
    lengths: list[tuple[int, int]], budget: int, seed: int, epoch: int
) -> None:
    shape = RowShape.of(budget, max(map(max, lengths)))
    batches = shared_row_batches(lengths, shape, seed=seed, epoch=epoch)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    assert batches == shared_row_batches(lengths, shape, seed=seed, epoch=epoch)
    split = invented(lengths)
    for indices in batches:
        batch = shared_row_batch(split, indices, shape, PAD)
        assert batch.src.shape == batch.labels.shape == (shape.rows, shape.width)
        assert shape.rows * shape.width <= budget


@given(some_lengths)
def test_every_sentence_stands_whole_in_its_row(lengths: list[tuple[int, int]]) -> None:
    split, shape = invented(lengths), RowShape(len(lengths), 64)
    batch = shared_row_batch(split, list(range(len(lengths))), shape, PAD)
    sides = (
        (batch.src, batch.src_at, batch.src_of, split.source),
        (batch.read, batch.tgt_at, batch.tgt_of, [t[:-1] for t in split.target]),
        (batch.labels, batch.tgt_at, batch.tgt_of, [t[1:] for t in split.target]),
    )
    for tokens, at, of, sentences in sides:
        found = []
        for row in range(shape.rows):
            for number in range(1, int(of[row].max()) + 1):
                here = (of[row] == number).nonzero().squeeze(1)
                assert here.tolist() == list(range(int(here[0]), int(here[-1]) + 1))
                assert at[row, here].tolist() == list(range(len(here)))
                found.append(tokens[row, here].tolist())
        assert sorted(found) == sorted(sentences)
        assert (tokens[of == 0] == PAD).all()
    for row in range(shape.rows):  # the same sentences on both sides, in the same order
        assert int(batch.src_of[row].max()) == int(batch.tgt_of[row].max())


def test_pairs_stay_together() -> None:
    lengths = [(5, 9), (7, 3), (2, 2), (30, 20), (20, 40)]
    split, shape = invented(lengths), RowShape(3, 64)
    batch = shared_row_batch(split, [4, 3, 2, 1, 0], shape, PAD)
    for row in range(shape.rows):
        for number in range(1, int(batch.src_of[row].max()) + 1):
            source = batch.src[row, batch.src_of[row] == number].tolist()
            target = batch.labels[row, batch.tgt_of[row] == number].tolist()
            index = split.source.index(source)
            assert split.target[index][1:] == target


def test_batches_are_full() -> None:
    """News lengths, the paper's budget: the share that is padding."""
    random = np.random.default_rng(0)
    source = np.clip(np.rint(24 * np.exp(0.5 * random.standard_normal(20_000))), 3, 120)
    lengths = [(int(n), int(n)) for n in source]
    shape = RowShape.of(25_000, 120)
    batches = shared_row_batches(lengths, shape, seed=0, epoch=0)
    room = shape.rows * shape.width
    padding = [1 - sum(lengths[i][0] for i in batch) / room for batch in batches]
    assert np.mean(padding[:-1]) < 0.02
    waste = shared_row_waste(lengths, batches, shape)
    assert waste.source == waste.target == pytest.approx(np.mean(padding))
    for first, second in pairwise(batches):
        assert not set(first) & set(second)


def model_of(dropout: float = 0.0) -> Transformer:
    torch.manual_seed(1)
    config = TransformerConfig(
        VOCABULARY, d_model=16, d_ff=32, num_heads=2, num_layers=2, dropout=dropout
    )
    model = Transformer(config).double()
    use_fast_paths(model)
    return model


def gradients(model: Transformer) -> list[Tensor]:
    found = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    return found


@settings(max_examples=20, deadline=None)
@given(some_lengths, st.sampled_from([0.0, 0.1]), st.sampled_from([0.0, 5.0]))
def test_loss_and_gradient_are_those_of_a_padded_batch(
    lengths: list[tuple[int, int]], smoothing: float, r_drop: float
) -> None:
    split, model = invented(lengths), model_of()
    shape = RowShape.of(20 * 64, 20)
    indices = list(range(len(lengths)))[: shape.rows]
    how = TrainingConfig(steps=1, label_smoothing=smoothing, r_drop=r_drop)
    shared = batch_loss(model, how, shared_row_batch(split, indices, shape, PAD))
    shared.backward()  # type: ignore[no-untyped-call]
    of_shared = gradients(model)
    padded = batch_loss(model, how, make_batch(split, indices, PAD))
    padded.backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(shared, padded, rtol=1e-10, atol=1e-10)
    for found, expected in zip(of_shared, gradients(model), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-10)


def test_what_the_decoder_makes_is_that_of_each_sentence_alone() -> None:
    split, model = invented([(5, 9), (7, 3), (20, 12)]), model_of().eval()
    batch = shared_row_batch(split, [2, 0, 1], RowShape(1, 64), PAD)
    hidden, labels, real = teacher_forced_in_shared_rows(model, batch)
    for number, index in enumerate([2, 0, 1], start=1):
        alone, answers = teacher_forced(model, make_batch(split, [index], PAD))
        of_this = (batch.tgt_of == number).flatten()
        torch.testing.assert_close(hidden[of_this], alone)
        assert labels[of_this].tolist() == answers.tolist()
    assert int(real.sum()) == 9 + 3 + 12
    assert hidden.isfinite().all()


def test_every_query_may_attend_to_something() -> None:
    """Also padding: in rows of nothing else, and where one side of a row is full."""
    lengths = [(64, 3), (2, 64)]
    batch = shared_row_batch(invented(lengths), [0, 1], RowShape(4, 64), PAD)
    for queries, keys in (
        (batch.src_of, batch.src_of),
        (batch.tgt_of, batch.tgt_of),
        (batch.tgt_of, batch.src_of),
    ):
        assert same_sentence_mask(queries, keys).any(-1).all()


def test_epochs_take_pairs_in_other_orders() -> None:
    lengths, shape = [(5, 5)] * 200, RowShape(4, 64)
    epochs = [shared_row_batches(lengths, shape, seed=0, epoch=epoch) for epoch in (0, 1)]
    assert epochs[0] != epochs[1]


def test_padding_has_the_models_own_sign() -> None:
    split, shape = invented([(5, 9)]), RowShape(1, 64)
    loader = Loader(7, torch.device("cpu"), ahead=False, shape=shape)
    batch = loader.batch(split, Part([0], 0, 0))
    assert isinstance(batch, SharedRowBatch)
    for tokens, of in (
        (batch.src, batch.src_of),
        (batch.read, batch.tgt_of),
        (batch.labels, batch.tgt_of),
    ):
        assert (tokens[of == 0] == 7).all()


def test_learned_positions_need_no_more_than_the_sentences() -> None:
    config = TransformerConfig(
        VOCABULARY,
        d_model=16,
        d_ff=16,
        num_heads=2,
        num_layers=1,
        dropout=0.0,
        positions="learned",
        max_positions=20,
    )
    split, model = invented([(20, 20), (9, 4)]), Transformer(config).double()
    use_fast_paths(model)
    how = TrainingConfig(steps=1)
    shared = batch_loss(model, how, shared_row_batch(split, [0, 1], RowShape(1, 64), PAD))
    torch.testing.assert_close(shared, batch_loss(model, how, make_batch(split, [0, 1], PAD)))


def test_rows_are_wide_enough_for_every_copy_of_the_pairs(tmp_path: Path) -> None:
    """BPE dropout gives the later epochs longer sentences."""
    short, long = invented([(5, 5)]), invented([(70, 5)])
    config = RunConfig(
        TransformerConfig(VOCABULARY, d_model=16, d_ff=16, num_heads=2, num_layers=1),
        TrainingConfig(epochs=2, share_rows=True),
        {},
    )
    run, cpu = RunDirectory(tmp_path / "run"), torch.device("cpu")
    trainer = Trainer(run, config, short, short, cpu, Progress(), copies=[long])
    assert trainer.plans.rule.shape == RowShape(4096 // 128, 128)


def test_the_loss_of_a_gpu_is_taken_in_few_even_parts() -> None:
    for rows in (1, 5, 16_384, 16_385, 25_000):
        chunk = loss_chunk(torch.device("cuda"), rows)
        assert chunk % 2 == 0  # R-Drop wants pairs
        assert -(-rows // chunk) == -(-rows // GPU_CHUNK)


def test_a_row_wider_than_the_budget_is_refused() -> None:
    with pytest.raises(CallError, match=r"may hold 100 tokens, and a row .* has 128"):
        RowShape.of(100, 70)


def test_pairs_without_room_are_refused() -> None:
    with pytest.raises(ValueError, match="pair 1 has no room in 1 rows of 64"):
        shared_row_batch(invented([(40, 40), (30, 5)]), [0, 1], RowShape(1, 64))


def test_the_loader_makes_them_and_a_step_takes_them() -> None:
    split, model = invented([(5, 9), (7, 3), (20, 12)]), model_of()
    shape = RowShape(2, 64)
    loader = Loader(PAD, torch.device("cpu"), ahead=False, shape=shape)
    part = Part([0, 1, 2], epoch=0, place=0)
    how = TrainingConfig(steps=1, share_rows=True)
    loss = add_gradients(model, how, split, [part], 24, [loader.batch(split, part)])
    of_shared = gradients(model)
    assert loss == pytest.approx(add_gradients(model, how, split, [part], 24))
    for found, expected in zip(of_shared, gradients(model), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-10)


def test_training_on_shared_rows_learns_stops_and_goes_on(tmp_path: Path) -> None:
    """The program's own command; stopped in the middle it ends with the same bits."""
    recipe = "--data copy --preset tiny/N=1,d_model=16,d_ff=16,h=2 --max-tokens 512 --share-rows"
    recipe += " --epochs 2 --warmup 20 --threads 1 --device cpu --precision fp32 --average 1"
    alone, stopped = tmp_path / "alone", tmp_path / "stopped"
    assert main(["train", "--run-dir", str(alone), *recipe.split()]) == 0
    short = recipe.replace("--epochs 2", "--epochs 2 --checkpoint-every 1 --keep 999")
    assert main(["train", "--run-dir", str(stopped), *short.split()]) == 0
    kept = sorted((stopped / "checkpoints").iterdir())
    for path in kept[len(kept) // 3 :]:
        path.unlink()
    (stopped / "model.safetensors").unlink()
    assert main(["train", "--run-dir", str(stopped), "--resume"]) == 0
    weights = [(run / "model.safetensors").read_bytes() for run in (alone, stopped)]
    assert weights[0] == weights[1]
    losses = [line["loss"] for line in RunDirectory(alone).read_metrics()]
    assert losses[-1] < losses[0]
    assert training_departures(RunDirectory(alone).read_config().training) == ["share_rows = True"]


def test_a_model_without_the_fast_paths_says_so():
    model = Transformer(TransformerConfig(20, d_model=8, d_ff=8, num_heads=2, num_layers=1))
    split = invented([(3, 4), (2, 2)])
    batch = shared_row_batch(split, [0, 1], RowShape(2, 64))
    with pytest.raises(ValueError, match=r"call use_fast_paths\(model\) first"):
        teacher_forced_in_shared_rows(model, batch)
