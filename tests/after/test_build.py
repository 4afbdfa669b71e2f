"""Models with later parts: built, counted, trained, written with a cache, kept and loaded."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from annotated_transformer.after.build import build_transformer
from annotated_transformer.after.config import LaterConfig, config_from_dict, read_parts
from annotated_transformer.after.norms import RMSNorm
from annotated_transformer.cli import main
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import EncodedSplit
from annotated_transformer.data.batching import make_batch
from annotated_transformer.decoding import beam_search
from annotated_transformer.decoding.decode import incremental_decoder
from annotated_transformer.decoding.incremental import PrefixDecoder
from annotated_transformer.fast.attach import use_fast_paths
from annotated_transformer.fast.shared_rows import RowShape, shared_row_batch
from annotated_transformer.inspection import recording_attention
from annotated_transformer.masks import padding_mask
from annotated_transformer.training.initial_gain import shrink_branches
from annotated_transformer.training.run_directory import load_run
from annotated_transformer.training.settings import TrainingConfig
from annotated_transformer.training.step import batch_loss
from annotated_transformer.transformer import Transformer

SIZES: dict[str, Any] = {"d_model": 24, "d_ff": 40, "num_heads": 6, "num_layers": 2, "dropout": 0.0}
PARTS: dict[str, dict[str, Any]] = {
    "the paper's": {},
    "RMSNorm": {"norm_kind": "rms"},
    "RMSNorm before": {"norm_kind": "rms", "norm": "pre"},
    "no norm": {"norm": "none", "qk_norm": True},
    "GELU": {"network": "gelu"},
    "SwiGLU": {"network": "swiglu"},
    "experts": {"network": "experts"},
    "one expert of two": {
        **{"network": "experts", "experts": 2, "experts_used": 1, "expert_balance": 0.01}
    },
    "RoPE": {"relative_positions": "rope", "positions": "none"},
    "RoPE, squeezed": {"relative_positions": "rope", "positions": "none", "rope_factor": 2.0},
    "ALiBi": {"relative_positions": "alibi", "positions": "none"},
    "shared keys": {"num_key_value_heads": 2, "attention_bias": True},
    "one key head": {"num_key_value_heads": 1, "d_k": 6, "d_v": 5},
    "normed": {"qk_norm": True},
    "a window": {"window": 3, "global_tokens": 1},
    "linear": {"kernel": "linear"},
    "decoder-only": {"family": "decoder-only"},
    "decoder-only, learned, pre": {
        **{"family": "decoder-only", "positions": "learned", "norm": "pre"},
        **{"tie_embeddings": False, "max_positions": 80},
    },
    "prefix": {"family": "prefix"},
    "prefix with RoPE": {
        **{"family": "prefix", "relative_positions": "rope", "positions": "none", "window": 5}
    },
    "all": {
        **{"norm": "pre", "norm_kind": "rms", "network": "swiglu", "relative_positions": "rope"},
        **{"positions": "none", "num_key_value_heads": 3, "qk_norm": True, "window": 4},
    },
}
every_part = pytest.mark.parametrize("changes", PARTS.values(), ids=PARTS)
SRC = torch.tensor([[5, 9, 7, 11, 2], [8, 6, 2, 0, 0]])
TGT = torch.tensor([[1, 12, 4, 7], [1, 9, 2, 0]])


def built(changes: dict[str, Any]) -> Transformer:
    torch.manual_seed(0)
    return build_transformer(LaterConfig(30, **(SIZES | changes))).double()


@every_part
def test_parameters_are_counted_as_in_the_model(changes: dict[str, Any]) -> None:
    model = built(changes)
    assert model.config.count_parameters() == model.num_parameters()


@every_part
def test_it_comes_back_from_its_file_and_says_what_is_not_the_papers(
    changes: dict[str, Any],
) -> None:
    config = LaterConfig(30, **(SIZES | changes))
    assert config_from_dict(config.to_dict()) == config
    departed = {line.partition(" = ")[0] for line in config.departures()}
    assert departed == {*changes} - {"d_k", "d_v", "max_positions"}


def test_a_configuration_of_the_paper_stays_one() -> None:
    config = TransformerConfig(30, **SIZES)
    assert type(config_from_dict(config.to_dict())) is TransformerConfig


def test_without_a_later_part_it_is_the_papers_model_to_the_bit() -> None:
    torch.manual_seed(0)
    papers = Transformer(TransformerConfig(30, **SIZES))
    torch.manual_seed(0)
    same = build_transformer(TransformerConfig(30, **SIZES))
    assert torch.equal(papers(SRC, TGT), same(SRC, TGT))
    later = build_transformer(LaterConfig(30, **SIZES))
    later.load_state_dict(papers.state_dict())
    torch.testing.assert_close(later(SRC, TGT), papers(SRC, TGT))


@every_part
def test_what_follows_is_not_seen_and_padding_neither(changes: dict[str, Any]) -> None:
    model = built(changes).eval()
    logits = model(SRC, TGT)
    changed = TGT.clone()
    changed[:, 2:] = 13
    torch.testing.assert_close(model(SRC, changed)[:, :2], logits[:, :2])
    alone = model(SRC[1:, :3], TGT[1:, :3])
    torch.testing.assert_close(alone, logits[1:, :3])


@every_part
def test_it_learns(changes: dict[str, Any]) -> None:
    model = built(changes)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(30):
        loss = torch.nn.functional.cross_entropy(
            model(SRC, TGT[:, :-1]).flatten(0, 1), TGT[:, 1:].flatten()
        )
        optimizer.zero_grad()
        loss.backward()
        losses.append(loss.item())
        missing = [name for name, p in model.named_parameters() if p.grad is None]
        assert not missing or "experts" in str(changes)  # an expert may be chosen by nobody
        optimizer.step()
    assert losses[-1] < losses[0] / 2


@every_part
def test_with_a_cache_it_writes_the_same(changes: dict[str, Any]) -> None:
    """Places are read off the mask, so that they are right in a cache of several hypotheses."""
    model = built(changes).eval()
    with torch.no_grad():
        cached, anew = (incremental_decoder(model, SRC, 3, cache) for cache in (True, False))
        prefixes = torch.ones(2, 1, 1, dtype=torch.long)
        for step in range(6):
            ours, theirs = cached.next_logits(prefixes), anew.next_logits(prefixes)
            torch.testing.assert_close(ours, theirs)
            parents = (torch.arange(3) + step).expand(2, 3) % prefixes.size(1)
            chosen = torch.arange(3).expand(2, 3) + 4 + step
            grown = prefixes.gather(1, parents[..., None].expand(-1, -1, prefixes.size(-1)))
            prefixes = torch.cat([grown, chosen[..., None]], dim=-1)
            for decoder in (cached, anew):
                decoder.select(torch.arange(2), parents)
            assert isinstance(anew, PrefixDecoder)
            anew.memory, anew.src_mask = model.encode(SRC), padding_mask(SRC)


@every_part
def test_it_translates_and_its_weights_can_be_looked_at(changes: dict[str, Any]) -> None:
    model = built(changes).eval()
    assert len(beam_search(model, SRC, beam_size=2)) == 2
    with torch.no_grad(), recording_attention(model) as recorded:
        model(SRC, TGT)
    weights = recorded[max(recorded)]  # of the last stack
    torch.testing.assert_close(weights.sum(-1)[0], torch.ones_like(weights.sum(-1)[0]))


def pairs_of(lengths: list[tuple[int, int]]) -> EncodedSplit:
    """Pairs of invented tokens, ends included."""
    generator = torch.Generator().manual_seed(0)

    def side(n: int, first: list[int]) -> list[int]:
        return [*first, *torch.randint(3, 30, (n,), generator=generator).tolist(), 2]

    sides = [(side(n, []), side(m, [1])) for n, m in lengths]
    source, target = ([pair[side_of] for pair in sides] for side_of in (0, 1))
    return EncodedSplit(source, target, range(len(lengths)), 0)


@pytest.mark.parametrize(
    "changes",
    [c for c in PARTS.values() if not {"family", "global_tokens"} & {*c}] + [{"window": 3}],
)
def test_in_rows_that_sentences_share_it_is_the_same(changes: dict[str, Any]) -> None:
    model, split = built(changes).eval(), pairs_of([(5, 9), (7, 3), (20, 12)])
    use_fast_paths(model)
    how = TrainingConfig(steps=1)
    shared = batch_loss(model, how, shared_row_batch(split, [0, 1, 2], RowShape(2, 64), 0))
    torch.testing.assert_close(shared, batch_loss(model, how, make_batch(split, [0, 1, 2], 0)))


def test_a_run_with_later_parts_is_trained_resumed_and_loaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--preset", "tiny/N=1,d_model=16,d_ff=16,h=4", "--positions", "none"]
    options += [
        "--later",
        "norm_kind=rms,network=swiglu,relative_positions=rope,num_key_value_heads=2",
    ]
    options += ["--data", "copy", "--max-tokens", "256", "--threads", "1"]
    options += ["--checkpoint-every", "2", "--device", "cpu", "--precision", "fp32"]
    run = tmp_path / "run"
    assert main(["train", "--run-dir", str(run), *options, "--steps", "6"]) == 0
    whole, _, config = load_run(run)
    (run / "model.safetensors").unlink()
    (run / "checkpoints" / "step-00000006.safetensors").unlink()
    assert main(["train", "--run-dir", str(run), *options, "--steps", "6", "--resume"]) == 0
    broken, _, _ = load_run(run)
    resumed = ["train", "--run-dir", str(run), "--resume", "--later"]
    assert main([*resumed, "network=gelu"]) == 2
    assert "--network gelu contradicts the run" in capsys.readouterr().err
    assert main([*resumed, "net=gelu"]) == 2
    assert isinstance(config.model, LaterConfig)
    assert config.model.num_key_value_heads == 2
    assert "network = swiglu" in config.model.departures()
    for one, other in zip(whole.parameters(), broken.parameters(), strict=True):
        assert torch.equal(one, other)


@every_part
def test_every_branch_begins_at_the_square_of_the_gain(changes: dict[str, Any]) -> None:
    """What a sub-layer adds, biases at zero, shrinks alike whatever the network is made of."""
    model, shrunk = built(changes), built(changes)
    shrink_branches(shrunk, 0.5)
    x = torch.randn(2, 5, 24, dtype=torch.float64)
    for whole, part in zip(model.encoder.layers, shrunk.encoder.layers, strict=True):
        small, large = part.feed_forward(x), whole.feed_forward(x)
        if changes.get("network") == "gelu":  # half of the input is not half of the output
            assert small.norm() < large.norm() / 4
        else:
            torch.testing.assert_close(small, large / 4)
        ours, theirs = part.self_attention(x, x, x), whole.self_attention(x, x, x) / 4
        torch.testing.assert_close(ours, theirs)


def test_dropout_of_weights_and_epsilon_reach_the_parts() -> None:
    """What the configuration says of the paper's parts holds for those in their place too."""
    sizes = {"d_model": 16, "d_ff": 16, "num_heads": 2, "num_layers": 1, "dropout": 0.0}
    lowered = {"positions": "none", "relative_positions": "alibi", "attention_dropout": 0.5}
    model = build_transformer(LaterConfig(20, **sizes, **lowered))
    x = torch.randint(3, 20, (2, 9))
    assert not torch.equal(model(x, x), model(x, x))
    model.eval()
    assert torch.equal(model(x, x), model(x, x))
    normed = LaterConfig(20, **sizes, norm_kind="rms", qk_norm=True, layer_norm_eps=0.25)
    norms = [part for part in build_transformer(normed).modules() if isinstance(part, RMSNorm)]
    assert len(norms) == 5 + 2 * 3
    assert {norm.eps for norm in norms} == {0.25}


def test_parts_are_read_as_they_are_written() -> None:
    assert read_parts("") == {}
    assert read_parts("network=swiglu,num_key_value_heads=2,qk_norm=yes,rope_factor=2.5") == {
        **{"network": "swiglu", "num_key_value_heads": 2, "qk_norm": True, "rope_factor": 2.5}
    }
    for written in (
        "net=swiglu",
        "num_key_value_heads=two",
        "qk_norm=perhaps",
        "network=gelu,network=swiglu",
        "num_key_value_heads",
    ):
        with pytest.raises(ValueError, match=written.partition("=")[0]):
            read_parts(written)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"network": "maxout"}, "network = 'maxout'"),
        ({"relative_positions": "rope"}, 'say positions = "none"'),
        ({"relative_positions": "rope", "positions": "none", "d_k": 3, "d_v": 3}, "make it even"),
        ({"attention": "additive"}, "beside equation 1"),
        ({"num_key_value_heads": 4}, "divisor of num_heads = 6"),
        ({"num_key_value_heads": 0}, "divisor of num_heads = 6"),
        ({"network": "experts", "experts_used": 5}, "from 1 to experts = 4"),
        ({"experts": 8}, "say network = experts too"),
        ({"expert_balance": 0.1}, "say network = experts too"),
        ({"rope_factor": 2.0}, "say relative_positions = rope too"),
        ({"global_tokens": 1}, "without a window"),
        ({"norm": "none", "norm_kind": "rms"}, "there is no norm"),
        ({"window": 10**20}, "at most 1,000,000,000"),
        ({"window": 0}, "window = 0"),
        ({"global_tokens": -1}, "global_tokens = -1"),
        *(
            (
                {"relative_positions": "rope", "positions": "none", "rope_factor": factor},
                f"rope_factor = {factor}",
            )
            for factor in (0.5, math.inf, math.nan)
        ),
        ({"kernel": "linear", "relative_positions": "alibi", "positions": "none"}, "no scores"),
        ({"kernel": "linear", "attention_dropout": 0.1}, "no weights to drop"),
        ({"kernel": "linear", "relative_positions": "rope", "positions": "none"}, "before elu"),
        ({"num_heads": 5}, "cannot be shared evenly"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        LaterConfig(30, **(SIZES | changes))
