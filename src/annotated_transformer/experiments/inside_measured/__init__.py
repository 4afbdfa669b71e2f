"""What several trainings do inside, recorded for chapter 11.

    python -m annotated_transformer.experiments.inside_measured run RUN_DIR    each training, alone
    python -m annotated_transformer.experiments.inside_measured agreement RUN_DIR RUN_DIR ...
    python -m annotated_transformer.experiments.inside_measured rest           what needs no run

`run` puts its training into `record.json`, or in the place of the one with that corpus and seed.
The trainings of the grammar are the shipped model (its folder is `annotated_transformer/shipped`)
and the command of results/grammar_shipped with `--seed 1`, 2 and 3; that of Multi30k is the base of
chapter 15's study (results/ablations/after_multi30k/base_s0).
"""

import argparse
import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.after.families import OneStack
from annotated_transformer.data import Batch, Split, Vocabulary, load_corpus
from annotated_transformer.data.grammar.corpus import as_split, said_in, say, tokens
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.likelihood import corpus_likelihood
from annotated_transformer.evaluation.scoring import cased_bleu, exact_match
from annotated_transformer.evaluation.translation import translate_sentences
from annotated_transformer.experiments.inside import (
    alignments,
    antecedents,
    attribution,
    heads,
    induction,
    lens,
    looks,
    matching,
    removal,
)
from annotated_transformer.experiments.inside.sentences import (
    batches_of_split,
    of_grammar,
)
from annotated_transformer.experiments.records import read_record, write_record
from annotated_transformer.experiments.seeding import seeded
from annotated_transformer.shipped import load_vocabulary
from annotated_transformer.training.run_directory import load_run
from annotated_transformer.transformer import Transformer

ASKED = 300  # sentences of a measurement
CHOSEN = 100  # sentences by which it is chosen what goes next
COMPARED = 60  # sentences whose words are explained
KEPT = (24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0)  # of 24 heads left when it is translated
DRAWN = 5  # orders drawn at random, to compare with


def rounded(values: Sequence[float], digits: int = 4) -> list[float]:
    """As they are kept."""
    return [round(value, digits) for value in values]


def loss_without(
    model: Transformer, batches: Sequence[Batch]
) -> Callable[[Sequence[removal.Head]], float]:
    """The loss on these batches as a function of the heads that are gone."""

    def loss(gone: Sequence[removal.Head]) -> float:
        with removal.without_heads(model, gone):
            return corpus_likelihood(model, batches).loss

    return loss


def singly(model: Transformer, batches: Sequence[Batch]) -> dict[str, Any]:
    """The loss with all heads, and without each: attention -> one a head, by zeros and by means."""
    means = removal.mean_answers(model, batches)
    found: dict[str, Any] = {"loss": round(corpus_likelihood(model, batches).loss, 4)}
    for way, instead in (("zeros", None), ("means", means)):
        losses: dict[str, list[float]] = {}
        for head in removal.heads_of(model):
            with removal.without_heads(model, [head], instead):
                losses.setdefault(head[0], []).append(corpus_likelihood(model, batches).loss)
        found[way] = {name: rounded(of) for name, of in losses.items()}
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
    for step in removal.remove_greedily(loss, every, at_once=max(1, len(every) // 24)):
        order.append(step)
        print(f"  {len(order)} of {len(every)} heads gone", end="\r", file=sys.stderr, flush=True)
    draw = torch.Generator().manual_seed(0)
    counts = [len(every) - round(len(every) * kept / 24) for kept in KEPT]
    by_chance = []
    for _ in range(DRAWN):
        drawn = [every[n] for n in torch.randperm(len(every), generator=draw).tolist()]
        by_chance.append(rounded([loss(drawn[:gone]) for gone in counts]))
    gone_first = [step.head for step in order]
    return {
        "order": [[name, head] for name, head in gone_first],
        "loss": rounded([step.loss for step in order]),
        "gone": counts,
        "tested": [translated_without(model, vocabulary, tested, gone_first[:n]) for n in counts],
        "by_chance": by_chance,
    }


def antecedents_of(model: Transformer, vocabulary: Vocabulary) -> dict[str, Any]:
    """From where the model reads what "it" stands for, and without which head it goes wrong.

    Returns:
        "exchanges": how many; "turned": part -> share of the pronouns that turn, "both" for the
        thing and "it" together; "wrong_without": attention -> share that is wrong without each
        head; "finder": the encoder's head without which most is wrong; "turned_without": as
        "turned", without that head; "nearest_noun": see there.
    """
    some = list(antecedents.exchanges([*said_in("valid"), *said_in("test")], vocabulary))

    def share(*parts: antecedents.Part) -> float:
        turned = antecedents.turned(model, some, parts)
        return round(sum(turned) / len(turned), 4)

    def turned() -> dict[str, float]:
        found = {"nothing": share(), "both": share("the thing", "it")}
        found.update((part, share(part)) for part in antecedents.PARTS)
        return found

    without: dict[str, list[float]] = {}
    for head in removal.heads_of(model):
        with removal.without_heads(model, [head]):
            without.setdefault(head[0], []).append(share())
    of_encoder = [head for head in removal.heads_of(model) if head[0].startswith("encoder")]
    finder = max(of_encoder, key=lambda head: without[head[0]][head[1]])
    found = {"exchanges": len(some), "turned": turned(), "wrong_without": without}
    nearest = nearest_noun(model, vocabulary, finder)
    with removal.without_heads(model, [finder]):
        turned_without = turned()
    return {
        **found,
        "finder": list(finder),
        "turned_without": turned_without,
        "nearest_noun": nearest,
    }


def nearest_noun(
    model: Transformer, vocabulary: Vocabulary, finder: removal.Head
) -> dict[str, Any]:
    """What the model makes of an "it" before which another noun stands nearer than its thing.

    Returns:
        "sentences": how many; "taken": share in which the pronoun of the nearer noun is preferred;
        "thing" and "nearer": mean weight of the finder, from "it", on the thing and on that noun.
    """
    said = [
        (changed, pair)
        for what, _ in [*said_in("valid"), *said_in("test")]
        if (changed := antecedents.with_kitchen(what)) and (pair := say(changed))
    ]
    sie = vocabulary.encode("sie")[0]
    taken, on_thing, on_nearer = [], [], []
    seen = looks.look(model, vocabulary, as_split([pair for _, pair in said]))
    for (what, pair), of in zip(said, seen, strict=True):
        side = antecedents.side_of(what, pair, vocabulary)
        with torch.no_grad():
            memory = model.encode(torch.tensor([side.source]))
            logits = model.project(model.decode(memory, torch.tensor([side.written]))[0, -1])
        taken.append(float(logits[sie] > logits[side.pronoun]))
        words = vocabulary.word_indices(pair.source)
        row = of.encoder[finder[0]][finder[1], words[side.it[0]]]
        on_thing.append(float(row[words[side.thing[0]]]))
        on_nearer.append(float(row[tokens(pair.source).index("kitchen")]))
    return {
        "sentences": len(said),
        **{
            name: round(sum(values) / len(values), 4)
            for name, values in (("taken", taken), ("thing", on_thing), ("nearer", on_nearer))
        },
    }


def other_weights(model: Transformer, batches: Sequence[Batch]) -> dict[str, dict[str, float]]:
    """Attention -> share of next tokens right with equal weights, and with its own dealt anew."""
    dealt = attribution.shuffled(torch.Generator().manual_seed(0))
    found: dict[str, dict[str, float]] = {}
    for way, change in (("equal", attribution.uniform), ("dealt", dealt)):
        for name in dict.fromkeys(name for name, _ in removal.heads_of(model)):
            with attribution.with_weights(model, [name], change):
                right = corpus_likelihood(model, batches).accuracy
            found.setdefault(name, {})[way] = round(right, 4)
    return found


def ends(vocabulary: Vocabulary) -> tuple[int, ...]:
    """The tokens with which every sentence ends: the full stop and the end sign."""
    return (*vocabulary.encode("Er.")[-1:], vocabulary.eos_id)


def measure_grammar(model: Transformer, vocabulary: Vocabulary) -> dict[str, Any]:
    """All of one run of the grammar."""
    asked, chosen = of_grammar("test", ASKED), of_grammar("valid", CHOSEN)
    seen = list(looks.look(model, vocabulary, asked.split))
    batches = batches_of_split(asked.split, vocabulary, ASKED)
    described = heads.describe(seen, asked.alignments, asked.source, asked.target)
    rates = alignments.scored(alignments.by_layer(seen), asked.alignments)
    agree = attribution.compared(model, vocabulary, asked.split, range(COMPARED))
    return {
        "right": round(corpus_likelihood(model, batches).accuracy, 4),
        "heads": heads.as_record(described),
        "error_rate": {name: round(rate, 4) for name, rate in rates},
        "singly": singly(model, batches),
        "greedily": one_after_the_other(model, vocabulary, chosen.split, asked.split),
        "lens": rounded(lens.right_after_each_layer(model, batches, ends(vocabulary)).tolist()),
        "antecedents": antecedents_of(model, vocabulary),
        "other_weights": other_weights(model, batches),
        "attribution": {
            name: {key: round(value, 4) for key, value in of.items()} for name, of in agree.items()
        },
    }


def measure_captions(
    model: Transformer, vocabulary: Vocabulary, data_dir: Path | None
) -> dict[str, Any]:
    """All of one run of Multi30k that can be asked without known alignments and relations."""
    corpus = load_corpus("multi30k", data_dir=data_dir)
    tested = corpus["test_2016_flickr"].first(ASKED)
    described = heads.describe(looks.look(model, vocabulary, tested))
    batches = batches_of_split(tested, vocabulary, ASKED)
    return {
        "right": round(corpus_likelihood(model, batches).accuracy, 4),
        "heads": heads.as_record(described),
        "greedily": one_after_the_other(model, vocabulary, corpus["valid"], tested),
    }


def agreements(models: Sequence[Transformer], vocabulary: Vocabulary) -> dict[str, Any]:
    """How alike the heads of each two trainings are.

    Returns:
        attention -> "best": of each two trainings the mean likeness of the best pairing; "any": of
        all pairs of heads; "untrained": "best" of each training and a model nobody has trained.
    """
    asked = of_grammar("test", 100).split
    seen = [list(looks.look(model, vocabulary, asked)) for model in models]
    with seeded(0):
        untrained = Transformer(models[0].config).eval()
    of_none = list(looks.look(untrained, vocabulary, asked))
    found = {}
    for attention in seen[0][0].every:
        alike = [
            matching.likeness(a, b, attention) for n, a in enumerate(seen) for b in seen[n + 1 :]
        ]
        none = [matching.likeness(a, of_none, attention) for a in seen]
        found[attention] = {
            "best": rounded([matching.best_match(of)[1] for of in alike], 3),
            "any": rounded([float(of.mean()) for of in alike], 3),
            "untrained": rounded([matching.best_match(of)[1] for of in none], 3),
        }
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
                "on_the_way": rounded(on_the_way, 3),
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


def without_network() -> dict[str, float]:
    """What the same links cost without a network: by the same place, and by counting words."""
    asked = of_grammar("test", ASKED)
    texts = [
        [(tokens(s.lower()), tokens(t.lower())) for s, t in zip(of.source, of.target, strict=True)]
        for of in (asked.split, load_corpus("grammar")["train"])
    ]
    counted = alignments.IBMModel1(texts[1])
    guesses = {
        "the same place": [alignments.same_place(len(s), len(t)) for s, t in texts[0]],
        "counting words": [counted.links(s, t) for s, t in texts[0]],
        "counting words, near places first": [counted.links(s, t, 4.0) for s, t in texts[0]],
    }
    return {name: round(rate, 4) for name, rate in alignments.scored(guesses, asked.alignments)}


def load_record() -> dict[str, Any]:
    """What was measured: "grammar" and "multi30k" -> seed -> measures, and the rest."""
    return read_record(__file__)


def translator_of(run_dir: Path) -> tuple[Transformer, Vocabulary, str, str]:
    """A run's model, its vocabulary, corpus and seed. Raises CallError if it has one stack."""
    model, vocabulary, config = load_run(run_dir)
    if isinstance(model, OneStack):
        raise CallError(f"{run_dir} is of one stack; an encoder and a decoder are asked for.")
    return model, vocabulary, config.data["name"], str(config.training.seed)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Record what trained runs do inside.")
    parser.add_argument("what", choices=("run", "agreement", "rest"))
    parser.add_argument("run_dirs", type=Path, nargs="*")
    parser.add_argument("--data-dir", type=Path, help="folder with the texts of Multi30k")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    record = load_record() if Path(__file__).with_name("record.json").is_file() else {}
    for name in ("command", "processor", "torch"):  # of this time, which `write_record` says
        record.pop(name, None)
    runs = [(run_dir, *translator_of(run_dir)) for run_dir in given.run_dirs]
    if given.what == "agreement":
        record["agreement"] = agreements([model for _, model, *_ in runs], load_vocabulary())
    elif given.what == "rest":
        record["without_network"] = without_network()
        record["induction"] = list(inductions())
    else:
        for run_dir, model, vocabulary, corpus, seed in runs:
            print(run_dir, file=sys.stderr)
            if corpus == "grammar":
                found = measure_grammar(model, vocabulary)
            else:
                found = measure_captions(model, vocabulary, given.data_dir)
            weights = (run_dir / "model.safetensors").read_bytes()
            digest = hashlib.sha256(weights).hexdigest()
            record.setdefault(corpus, {})[seed] = {"weights_sha256": digest, **found}
    write_record(__file__, record)
