"""Finding one thing in a long text: what chapter 15 measures of positions and of distractors.

A row is a haystack of words among which facts stand, each one token that says "the value of key k
is v"; then questions: a key, and the model is to name its value. A small decoder-only model is
trained on rows up to a length; it can then be asked about longer ones, about a fact at each depth,
and among more facts than it has seen.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from annotated_transformer.after.build import build_transformer
from annotated_transformer.after.config import LaterConfig, Stretch
from annotated_transformer.after.families import OneStack
from annotated_transformer.experiments.records import read_record, write_record
from annotated_transformer.experiments.seeding import seeded
from annotated_transformer.experiments.small_training import train_briefly
from annotated_transformer.inspection import recording_attention
from annotated_transformer.masks import causal_mask

WORDS, KEYS, VALUES = 16, 64, 8
QUESTION = WORDS  # hay first, then the keys as questions, the values as answers, and the facts
ANSWER = QUESTION + KEYS
FACT = ANSWER + VALUES  # the fact of key k and value v is FACT + VALUES * k + v
VOCABULARY = FACT + KEYS * VALUES
KINDS: dict[str, dict[str, str]] = {
    "sinusoids": {},
    "learned": {"positions": "learned"},
    "none": {"positions": "none"},
    "RoPE": {"positions": "none", "relative_positions": "rope"},
    "ALiBi": {"positions": "none", "relative_positions": "alibi"},
}
TRAINED, LONGEST = 64, 512  # words of a haystack, in training and at most
FACTS, QUESTIONS, STEPS, SEEDS = 8, 8, 1000, (0, 1, 2)
LENGTHS = (32, 64, 96, 128, 256, LONGEST)
AMONG = (8, 16, 32, 64)  # facts in as many words as in training
ROWS, UNSEEN = 400, 1000  # of a measurement; its rows are drawn from this seed and the length


@dataclass(frozen=True)
class Rows:
    """Rows with their questions.

    Attributes:
        tokens: (rows, n + 2 * questions); a question is a key and its value.
        depths: where in the haystack the key asked for stands, (rows, questions).
        questions: how many there are in each row.
    """

    tokens: Tensor
    depths: Tensor
    questions: int

    @property
    def values(self) -> Tensor:
        """The right answers, (rows, questions)."""
        return self.tokens[:, -2 * self.questions + 1 :: 2]


def draw_rows(rows: int, n: int, facts: int, questions: int, draw: torch.Generator) -> Rows:
    """Rows of n words, so many of them facts about different keys, of which some are asked for."""
    tokens = torch.randint(WORDS, (rows, n), generator=draw)
    places = torch.rand(rows, n, generator=draw).argsort(-1)[:, :facts]
    keys = torch.rand(rows, KEYS, generator=draw).argsort(-1)[:, :facts]
    values = torch.randint(VALUES, (rows, facts), generator=draw)
    tokens.scatter_(1, places, FACT + VALUES * keys + values)
    asked = torch.stack([QUESTION + keys, ANSWER + values], dim=-1)[:, :questions]
    return Rows(torch.cat([tokens, asked.flatten(1)], dim=1), places[:, :questions], questions)


def unseen_rows(n: int, facts: int = FACTS, rows: int = ROWS) -> Rows:
    """Rows of a measurement: the same whenever they are asked for."""
    return draw_rows(rows, n, facts, QUESTIONS, torch.Generator().manual_seed(UNSEEN + n))


def build_reader(kind: str, **changes: Any) -> OneStack:
    """A decoder-only model of two layers with positions of this kind."""
    sizes = {"d_model": 64, "d_ff": 128, "num_heads": 4, "num_layers": 2, "dropout": 0.0}
    of_all = {"family": "decoder-only", "norm": "pre", "max_positions": LONGEST + 64}
    parts: dict[str, Any] = {**sizes, **of_all, **KINDS[kind], **changes}
    model = build_transformer(LaterConfig(VOCABULARY, **parts))
    assert isinstance(model, OneStack)
    return model


def logits_of_answers(model: OneStack, rows: Rows) -> Tensor:
    """What the model says after each key that is asked for, (rows, questions, vocabulary)."""
    n = rows.tokens.size(1)
    logits = model.read(rows.tokens, causal_mask(n))
    return logits[:, -2 * rows.questions :: 2]


def train_reader(kind: str, seed: int, steps: int = STEPS) -> OneStack:
    """Train a reader on 64 rows a step, of a quarter of `TRAINED` to `TRAINED` words."""
    with seeded(seed):
        model = build_reader(kind)
    draw = torch.Generator().manual_seed(seed)

    def draw_loss() -> Tensor:
        n = int(torch.randint(TRAINED // 4, TRAINED + 1, (), generator=draw))
        rows = draw_rows(64, n, FACTS, QUESTIONS, draw)
        return cross_entropy(logits_of_answers(model, rows).flatten(0, 1), rows.values.flatten())

    train_briefly(model, draw_loss, steps, peak=3e-3, warmup=100)
    return model.eval()


@torch.no_grad()
def recalled(model: OneStack, rows: Rows) -> Tensor:
    """Which questions are answered rightly, bool (rows, questions)."""
    return logits_of_answers(model, rows).argmax(-1) == rows.values


@torch.no_grad()
def weight_on_facts(model: OneStack, rows: Rows) -> Tensor:
    """How much each question's best head looks at the fact asked for, (rows, questions).

    Of the last layer, in which the answer is read off.
    """
    with recording_attention(model) as recorded:
        logits_of_answers(model, rows)
    weights = recorded["encoder.layers.1.self_attention"]  # (rows, heads, n, n)
    asked = weights[:, :, -2 * rows.questions :: 2]  # (rows, heads, questions, n)
    to_facts = asked.gather(-1, rows.depths[:, None, :, None].expand(-1, asked.size(1), -1, 1))
    return to_facts[..., 0].amax(1)


def stretched(model: OneStack, how: Stretch, factor: float) -> OneStack:
    """The same weights with rotations that reach `factor` times as far; nothing is trained."""
    longer = build_transformer(
        model.config.with_changes(rope_stretch=how, rope_factor=max(1.0, factor))
    )
    longer.load_state_dict(model.state_dict())
    assert isinstance(longer, OneStack)
    return longer.eval()


def measure_reader(model: OneStack, rows: int = ROWS) -> dict[str, Any]:
    """What a trained reader recalls, as shares from 0 to 1.

    Returns:
        "length": n -> share, with 8 facts in n words; "depth": n -> share in each tenth of the
        haystack, the farthest from the question first; "facts": number -> share among so many facts
        in 64 words; "weight": the same numbers of facts -> mean weight of the best head on the fact
        asked for.
    """
    found: dict[str, Any] = {"length": {}, "depth": {}, "facts": {}, "weight": {}}
    for n in LENGTHS:
        asked = unseen_rows(n, rows=rows)
        right = recalled(model, asked).double()
        found["length"][n] = round(right.mean().item(), 4)
        if n in (TRAINED, 4 * TRAINED):
            tenth = 10 * asked.depths // n
            found["depth"][n] = [round(right[tenth == t].mean().item(), 3) for t in range(10)]
    for facts in AMONG:
        asked = unseen_rows(TRAINED, facts, rows)
        found["facts"][facts] = round(recalled(model, asked).double().mean().item(), 4)
        found["weight"][facts] = round(weight_on_facts(model, asked).mean().item(), 4)
    return found


def measure(seeds: Sequence[int] = SEEDS, steps: int = STEPS) -> dict[str, Any]:
    """Every kind of positions, a reader a seed; of RoPE also stretched to the length asked for."""
    torch.set_num_threads(1)
    found: dict[str, Any] = {}
    for kind in KINDS:
        for seed in seeds:
            model = train_reader(kind, seed, steps)
            found.setdefault(kind, []).append(measure_reader(model))
            print(f"{kind}, seed {seed}: {found[kind][-1]['length']}", file=sys.stderr, flush=True)
            if kind != "RoPE":
                continue
            for how in get_args(Stretch):
                lengths = {}
                for n in LENGTHS:
                    right = recalled(stretched(model, how, n / TRAINED), unseen_rows(n))
                    lengths[n] = round(right.double().mean().item(), 4)
                found.setdefault(f"RoPE, {how}", []).append({"length": lengths})
    return found


def load_record() -> dict[str, Any]:
    """The record: how it was made, and of each kind what `measure_reader` found, one a seed."""
    return read_record(__file__)


def main() -> None:
    """The command."""
    begun = time.process_time()
    kinds = measure()
    values = {
        "steps": STEPS,
        "rows": ROWS,
        "cpu_minutes": round((time.process_time() - begun) / 60, 1),
        "kinds": kinds,
    }
    write_record(__file__, values)
