"""The heads of several trainings, and what goes wrong without them, which chapter 11 shows.

`record.json` is made anew, one run after the other, by
`python -m annotated_transformer.experiments.heads_measured --run-dir RUN --run-dir RUN ...`; a run
that is given again takes the place of what is there. Without a run, the models of `induction` are
trained and measured. The runs of the grammar are the shipped model
(its folder is `annotated_transformer/shipped`) and the same command with other seeds; those of
Multi30k are the base of the study of chapter 15.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.data import (
    Batch,
    Split,
    Vocabulary,
    encode_split,
    load_corpus,
    make_batch,
)
from annotated_transformer.data.grammar import english, german
from annotated_transformer.data.grammar.corpus import sayings, tokens
from annotated_transformer.data.grammar.relations import RELATIONS, Link, relations
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.scoring import cased_bleu, exact_match
from annotated_transformer.evaluation.translation import translate_sentences
from annotated_transformer.experiments.inside import (
    agreement,
    alignments,
    antecedents,
    explained,
    heads,
    induction,
    lens,
    looks,
    pictures,
    removal,
)
from annotated_transformer.experiments.records import read_record, write_record
from annotated_transformer.shipped import load_shipped
from annotated_transformer.training.run_directory import load_run
from annotated_transformer.transformer import Transformer

ASKED = 300  # sentences of a measurement
CHOSEN = 100  # sentences by which it is chosen what goes next
KEPT = (24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0)  # heads left, of 24, when it is translated
DRAWN = 5  # orders drawn at random, to compare with


@dataclass(frozen=True)
class Sentences:
    """Sentences and what is known of them.

    Attributes:
        split: the pairs, with their alignments where these are known.
        source, target: the related words of each side, where these are known.
    """

    split: Split
    source: list[dict[str, list[Link]]]
    target: list[dict[str, list[Link]]]


def of_grammar(first: int, count: int) -> Sentences:
    """Sentences of the grammar by number: 0 to 999 are its validation split, then its test."""
    said = list(islice(sayings(0), first, first + count))
    split = Split(
        source=[pair.source for _, pair in said],
        target=[pair.target for _, pair in said],
        alignments=[pair.alignment for _, pair in said],
        tags=[pair.tags for _, pair in said],
    )
    source = [relations(of, english.sentence(of)) for of, _ in said]
    return Sentences(split, source, [relations(of, german.sentence(of)) for of, _ in said])


def batches_of_split(split: Split, vocabulary: Vocabulary, count: int) -> list[Batch]:
    """The first sentences of a split in batches of a hundred, in their order."""
    encoded = encode_split(split, vocabulary)
    return [
        make_batch(encoded, list(range(start, min(start + 100, count))))
        for start in range(0, count, 100)
    ]


def loss_without(
    model: Transformer, batches: Sequence[Batch]
) -> Callable[[Sequence[removal.Head]], float]:
    """The loss on these batches as a function of the heads that are gone."""

    def loss(gone: Sequence[removal.Head]) -> float:
        with removal.without_heads(model, gone):
            return removal.right_next(model, batches)[1]

    return loss


def singly(model: Transformer, batches: Sequence[Batch]) -> dict[str, Any]:
    """Right next tokens and loss with all heads, and without each, said nothing or its mean."""
    right, loss = removal.right_next(model, batches)
    mean = removal.mean_answers(model, batches)
    found: dict[str, Any] = {"right": round(right, 4), "loss": round(loss, 4), "without": {}}
    for head in removal.heads_of(model):
        of = []
        for instead in (None, mean):
            with removal.without_heads(model, [head], instead):
                of += [round(value, 4) for value in removal.right_next(model, batches)]
        found["without"].setdefault(head[0], []).append(of)
    return found


def translated_without(
    model: Transformer, vocabulary: Vocabulary, split: Split, gone: Sequence[removal.Head]
) -> dict[str, float]:
    """Greedy translations without some heads: BLEU, and how many are right in a hundred."""
    with removal.without_heads(model, gone):
        said = translate_sentences(model, vocabulary, split.source, beam_size=1)
    return {
        "bleu": round(cased_bleu(said, split.target).value, 2),
        "exact": round(exact_match(said, split.target).value, 1),
    }


def one_after_the_other(
    model: Transformer, vocabulary: Vocabulary, chosen: Split, tested: Split
) -> dict[str, Any]:
    """Heads taken away greedily, a 24th of them each time, and in orders drawn at random.

    What goes is chosen by the loss on `chosen`; what is left is tested on `tested`.
    """
    every = removal.heads_of(model)
    loss = loss_without(model, batches_of_split(chosen, vocabulary, CHOSEN))
    order = []
    for step in removal.remove_greedily(loss, every, at_once=len(every) // 24):
        order.append(step)
        print(f"  {len(order)} of {len(every)} heads gone", end="\r", file=sys.stderr, flush=True)
    draw = torch.Generator().manual_seed(0)
    counts = [len(every) - round(len(every) * kept / 24) for kept in KEPT]
    by_chance = []
    for _ in range(DRAWN):
        drawn = [every[n] for n in torch.randperm(len(every), generator=draw).tolist()]
        by_chance.append([round(loss(drawn[:gone]), 4) for gone in counts])
    gone_first = [step.head for step in order]
    return {
        "order": [[name, head] for name, head in gone_first],
        "loss": [round(step.loss, 4) for step in order],
        "gone": counts,
        "tested": [translated_without(model, vocabulary, tested, gone_first[:n]) for n in counts],
        "by_chance": by_chance,
    }


def antecedents_of(model: Transformer, vocabulary: Vocabulary) -> dict[str, Any]:
    """From where the model reads what "it" stands for, and without which head it goes wrong."""
    some = list(antecedents.exchanges(vocabulary))

    def share(turned: Sequence[bool]) -> float:
        return round(sum(turned) / len(turned), 4)

    parts = [(), *((part,) for part in antecedents.PARTS), ("the thing", "it"), antecedents.PARTS]
    found = {
        " + ".join(of) or "nothing": share(antecedents.turned(model, some, of)) for of in parts
    }
    without: dict[str, list[float]] = {}
    for head in removal.heads_of(model):
        with removal.without_heads(model, [head]):
            without.setdefault(head[0], []).append(share(antecedents.turned(model, some)))
    return {"exchanges": len(some), "turned": found, "wrong_without": without}


def measure_grammar(model: Transformer, vocabulary: Vocabulary) -> dict[str, Any]:
    """All of one run of the grammar."""
    asked, chosen = of_grammar(1000, ASKED), of_grammar(0, CHOSEN)
    seen = list(looks.look(model, vocabulary, asked.split))
    assert asked.split.alignments is not None
    batches = batches_of_split(asked.split, vocabulary, ASKED)
    described = heads.describe(seen, asked.split.alignments, asked.source, asked.target)
    rates = alignments.scored(alignments.by_layer(seen), asked.split.alignments)
    dealt = explained.shuffled(torch.Generator().manual_seed(0))
    other_weights: dict[str, dict[str, float]] = {}
    for way, change in (("equal", explained.uniform), ("dealt", dealt)):
        for name in dict.fromkeys(name for name, _ in removal.heads_of(model)):
            with explained.with_weights(model, [name], change):
                right = removal.right_next(model, batches)[0]
            other_weights.setdefault(name, {})[way] = round(right, 4)
    agree = explained.compared(model, vocabulary, asked.split, range(60))
    return {
        "heads": heads.as_record(described),
        "error_rate": {name: round(rate, 4) for name, rate in rates},
        "singly": singly(model, batches),
        "greedily": one_after_the_other(model, vocabulary, chosen.split, asked.split),
        "lens": [round(x, 4) for x in lens.right_after_each_layer(model, batches).tolist()],
        "antecedents": antecedents_of(model, vocabulary),
        "other_weights": other_weights,
        "explained": {
            name: {key: round(value, 4) for key, value in of.items()} for name, of in agree.items()
        },
        "pictures": pictures_of(seen, asked),
    }


def pictures_of(seen: Sequence[looks.Looks], asked: Sentences) -> dict[str, Any]:
    """The best picture of each relation, and of pairs of words that nothing connects."""
    links = {
        name: {n: of[name] for n, of in enumerate(asked.source) if of[name]} for name in RELATIONS
    }
    draw = torch.Generator().manual_seed(0)
    links["drawn at random"] = {
        n: pictures.drawn_pairs(len(tokens(sentence)) - 1, 1, draw, apart=3)
        for n, sentence in enumerate(asked.split.source)
    }
    found = {}
    for name, of in links.items():
        best = pictures.most_beautiful(seen, of)
        found[name] = {
            "weight": round(best.weight, 3),
            "mean": round(best.mean, 3),
            "head": [best.attention, best.head],
            "sentence": asked.split.source[best.sentence],
            "words": [tokens(asked.split.source[best.sentence])[n] for n in best.link],
            "tried": best.tried,
        }
    return found


def measure_captions(
    model: Transformer, vocabulary: Vocabulary, data_dir: Path | None
) -> dict[str, Any]:
    """All of one run of Multi30k that can be asked without known alignments and relations."""
    corpus = load_corpus("multi30k", data_dir=data_dir)
    chosen, tested = corpus["valid"], first_of(corpus["test_2016_flickr"], ASKED)
    seen = list(looks.look(model, vocabulary, tested))
    described = heads.describe(seen, [[] for _ in range(ASKED)])
    return {
        "heads": heads.as_record(described),
        "singly": singly(model, batches_of_split(tested, vocabulary, ASKED)),
        "greedily": one_after_the_other(model, vocabulary, chosen, tested),
    }


def first_of(split: Split, count: int) -> Split:
    """The first pairs of a split."""
    return Split(source=split.source[:count], target=split.target[:count])


def agreements(models: Sequence[tuple[str, Transformer]], vocabulary: Vocabulary) -> dict[str, Any]:
    """How alike the heads of each two runs are at best, and of a run and an untrained model."""
    asked = of_grammar(1000, 100).split
    seen = {name: list(looks.look(model, vocabulary, asked)) for name, model in models}
    torch.manual_seed(0)
    untrained = list(looks.look(Transformer(models[0][1].config).eval(), vocabulary, asked))
    found: dict[str, Any] = {"between": {}, "untrained": {}}
    for attention in seen[models[0][0]][0].every:
        names = list(seen)
        found["between"][attention] = [
            round(agreement.best_match(agreement.likeness(seen[a], seen[b], attention))[1], 3)
            for n, a in enumerate(names)
            for b in names[n + 1 :]
        ]
        found["untrained"][attention] = [
            round(agreement.best_match(agreement.likeness(seen[a], untrained, attention))[1], 3)
            for a in names
        ]
    return found


def inductions(seeds: Sequence[int] = (0, 1, 2)) -> Iterator[dict[str, Any]]:
    """The test for induction heads, put to models of one layer and of two."""
    for layers in (1, 2):
        for seed in seeds:
            model, on_the_way = induction.train(layers, seed)
            rows = induction.unseen_rows()
            scores = induction.head_scores(model, rows)
            without = induction.repeated_without(model, rows)
            yield {
                "layers": layers,
                "seed": seed,
                "repeated": round(induction.repeated(model, rows), 4),
                "on_the_way": [round(share, 3) for share in on_the_way],
                "longer": round(induction.repeated(model, induction.unseen_rows(24)), 4),
                "heads": [
                    {
                        "head": [name, head],
                        **{what: round(value, 3) for what, value in of.items()},
                        "without": round(without[name, head], 4),
                    }
                    for (name, head), of in scores.items()
                ],
            }


def word_table() -> dict[str, float]:
    """What the same links cost without a network: by the same place, and by counting words."""
    asked = of_grammar(1000, ASKED).split
    assert asked.alignments is not None
    texts = [
        [(tokens(s.lower()), tokens(t.lower())) for s, t in zip(of.source, of.target, strict=True)]
        for of in (asked, load_corpus("grammar")["train"])
    ]
    table = alignments.WordTable(texts[1])
    guesses = {
        "the same place": [alignments.same_place(len(s), len(t)) for s, t in texts[0]],
        "counted": [table.links(s, t) for s, t in texts[0]],
    }
    return {name: round(rate, 4) for name, rate in alignments.scored(guesses, asked.alignments)}


def load_record() -> dict[str, Any]:
    """What was measured: "grammar" and "multi30k" -> seed -> measures, and the rest."""
    return read_record(__file__)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Record what the heads of trained runs do.")
    parser.add_argument("--run-dir", type=Path, action="append", default=[])
    parser.add_argument("--data-dir", type=Path, help="folder with the texts of Multi30k")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    kept = Path(__file__).with_name("record.json")
    record: dict[str, Any] = load_record() if kept.is_file() else {}
    for name in ("command", "processor", "torch"):  # of this time
        record.pop(name, None)
    of_the_grammar: list[tuple[str, Transformer]] = []
    for run_dir in given.run_dir:
        print(run_dir, file=sys.stderr)
        model, vocabulary, config = load_run(run_dir)
        if not isinstance(model, Transformer):
            raise CallError(f"{run_dir} is of one stack; an encoder and a decoder are asked for.")
        seed = str(config.training.seed)
        if config.data["name"] == "grammar":
            of_the_grammar.append((seed, model))
            found = measure_grammar(model, vocabulary)
        else:
            found = measure_captions(model, vocabulary, given.data_dir)
        record.setdefault(config.data["name"], {})[seed] = found
        write_record(__file__, record)
    if len(of_the_grammar) > 1:
        record["agreement"] = agreements(of_the_grammar, load_shipped()[1])
        record["without_network"] = word_table()
    if not given.run_dir:
        record["induction"] = list(inductions())
    write_record(__file__, record)
