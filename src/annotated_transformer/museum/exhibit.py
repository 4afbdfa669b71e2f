"""One exhibit: a bug trained, asked and examined, and what was recorded of it."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean

import torch

from annotated_transformer.data import Split
from annotated_transformer.data.cache import one_at_a_time
from annotated_transformer.data.grammar.corpus import TRAVELLING_SENTENCE, corpus_sha256
from annotated_transformer.errors import WorkError
from annotated_transformer.evaluation.scoring import cased_bleu, exact_match
from annotated_transformer.museum import recipe as right
from annotated_transformer.museum.bugs import Bug
from annotated_transformer.museum.checks import diagnose, first_complaint
from annotated_transformer.museum.recipe import CONFIG, Recipe, Trained, Weights
from annotated_transformer.museum.system import Log, System
from annotated_transformer.training.checkpoints import (
    load_tensors,
    save_tensors,
    write_atomically,
)
from annotated_transformer.training.run_directory import model_weights, set_model_weights
from annotated_transformer.training.run_files import checked, read_list
from annotated_transformer.transformer import Transformer, evaluation_mode

RECORDS = Path(__file__).resolve().parent / "recorded"
EVERY, ASKED, AT_ONCE = 50, 200, 50  # steps a point of the curve; sentences; sentences a batch
FORMAT = "annotated-transformer museum 1"
Progress = Callable[[int], None]


@dataclass(frozen=True)
class Exhibit:
    """What one training with a bug came to.

    Attributes:
        bug: its name, or that of a control.
        seed: of the training.
        steps: how many.
        curve: the mean loss of each `EVERY` steps, in nats per token, as its own code counts it.
        loss: of validation pairs, likewise.
        accuracy: share of their tokens that are the best one, each after the true beginning.
        score: of the translations, as its own code scores.
        bleu: of the same translations, cased.
        exact: percentage of translations that are their reference.
        length_ratio: characters written over characters of the references.
        empty: percentage of translations without a word.
        travelling: what becomes of the travelling sentence.
        named: the bug of the first complaint of `diagnose`; "" if it has none.
        says: the measurement that betrayed it.
        cpu_seconds: of the training; next to none where a right run lay ready.
    """

    bug: str
    seed: int
    steps: int
    curve: list[float]
    loss: float
    accuracy: float
    score: float
    bleu: float
    exact: float
    length_ratio: float
    empty: float
    travelling: str
    named: str
    says: str
    cpu_seconds: float


FIELDS = {**Exhibit.__annotations__, "curve": list}


def make(
    bug: Bug, seed: int, work: Path, steps: int = right.STEPS, progress: Progress = lambda _: None
) -> Exhibit:
    """Train with a bug, ask, and examine. Arguments and errors are those of `trained_with`."""
    began = time.process_time()
    trained = trained_with(bug, seed, work, steps, progress)
    return examine(bug, seed, trained, time.process_time() - began)


def trained_with(
    bug: Bug, seed: int, work: Path, steps: int = right.STEPS, progress: Progress = lambda _: None
) -> Trained:
    """The run with a bug, or of a control: trained, or the right one where only the asking differs.

    Args:
        bug: what is different.
        seed: of the training.
        work: a folder for the weights of right runs, which several bugs share.
        steps: of the training.
        progress: is told each step.

    Raises:
        WorkError: if weights in the folder are damaged.
    """

    def stranger() -> Weights:
        return model_weights(right_run(seed + 1, work, steps, progress).model)

    if bug.trains:
        return right.train(bug.recipe, seed, steps, progress)
    without = right_run(seed, work, steps, progress)
    weights = bug.recipe.keep(model_weights(without.model), stranger)
    model = bug.recipe.build(CONFIG)
    set_model_weights(model, weights, kept(seed, work, steps))
    return replace(without, model=model)


def kept(seed: int, work: Path, steps: int) -> Path:
    """Where a right run's weights lie."""
    return work / f"right_s{seed}_{steps}.safetensors"


def right_run(seed: int, work: Path, steps: int, progress: Progress) -> Trained:
    """The run without a bug: from the folder, or trained and put there."""
    path = kept(seed, work, steps)
    if not path.exists():
        trained = right.train(Recipe(), seed, steps, progress)
        path.parent.mkdir(parents=True, exist_ok=True)
        log = {"losses": trained.losses, "rates": trained.rates}
        save_tensors(
            path, model_weights(trained.model), {"format": FORMAT, "settings": settings(), **log}
        )
    weights, about = load_tensors(path, FORMAT, "Delete it to train it again.")
    if about.get("settings") != settings():
        raise WorkError(f"{path} is of other settings than today's. Delete it to train it again.")
    model = Transformer(CONFIG)
    set_model_weights(model, weights, path)
    return Trained(model, about["losses"], about["rates"])


def settings() -> str:
    """What a right run depends on beside its seed and steps, as far as it is data."""
    rates = [right.rate(step) for step in (1, right.WARMUP, right.STEPS)]
    return repr((CONFIG, right.MAX_TOKENS, rates, corpus_sha256(right.corpus())))


def examine(bug: Bug, seed: int, trained: Trained, seconds: float) -> Exhibit:
    """Ask a trained model as its own code asks it, and let `diagnose` look."""
    recipe, model = bug.recipe, trained.model
    known = recipe.known(right.vocabulary())
    valid, travelling = right.corpus()["valid"], TRAVELLING_SENTENCE
    sentences = Split(
        [travelling.source, *valid.source[:ASKED]], [travelling.target, *valid.target[:ASKED]]
    )
    encoded = recipe.ids(sentences, known)
    loss, best, tokens, written = 0.0, 0, 0, []
    for first in range(0, len(encoded), AT_ONCE):
        indices = range(first, min(first + AT_ONCE, len(encoded)))
        src, tgt = right.tensors(encoded, indices)
        read, labels = recipe.read_and_labels(tgt)
        with evaluation_mode(model), torch.inference_mode():
            said = model(src, read)
        real = labels != CONFIG.pad_id
        loss += float(recipe.loss(said, labels)) * int(real.sum())
        best += int((said.argmax(-1) == labels)[real].sum())
        tokens += int(real.sum())
        written += recipe.write(recipe, model, src, tgt).tolist()
    texts = [known.decode(ids) for ids in written]
    hypotheses, references = texts[1:], sentences.target[1:]
    found = first_complaint(diagnose(system_of(recipe, trained)))
    return Exhibit(
        bug=bug.name,
        seed=seed,
        steps=len(trained.losses),
        curve=[
            round(mean(trained.losses[at : at + EVERY]), 3)
            for at in range(0, len(trained.losses), EVERY)
        ],
        loss=round(loss / tokens, 3),
        accuracy=round(best / tokens, 4),
        score=round(recipe.score(hypotheses, references).value, 2),
        bleu=round(cased_bleu(hypotheses, references).value, 2),
        exact=round(exact_match(hypotheses, references).value, 1),
        length_ratio=round(sum(map(len, texts)) / sum(map(len, sentences.target)), 3),
        empty=round(100 * sum(not text.strip() for text in texts) / len(texts), 1),
        travelling=texts[0],
        named=found.bug if found else "",
        says=found.says if found else "",
        cpu_seconds=round(seconds, 1),
    )


def system_of(recipe: Recipe, trained: Trained) -> System:
    """What `diagnose` is given of a run of the museum; no name of a bug is in it."""
    pairs, held_out = (
        Split(list(split.source[:100]), list(split.target[:100]))
        for split in (right.corpus()["train"], right.corpus()["valid"])
    )
    log = Log(range(1, len(trained.losses) + 1), trained.losses, trained.rates)
    known = right.vocabulary()
    return System(
        model=trained.model,
        recipe=recipe,
        config=CONFIG,
        vocabulary=known,
        pairs=pairs,
        held_out=held_out,
        log=log,
        rate=right.rate,
    )


def untrained(recipe: Recipe) -> System:
    """What `diagnose` is given of a model that nobody has trained.

    Its gains and shifts are moved from where they begin, which is where many forms agree.
    """
    torch.manual_seed(0)
    model = recipe.build(CONFIG)
    for weight in model.parameters():
        weight.data += 0.02 * torch.randn_like(weight)
    system = system_of(recipe, Trained(model, [], []))
    return replace(system, log=None, rate=None)


def record(exhibit: Exhibit, folder: Path = RECORDS) -> None:
    """Put it beside those of other seeds, in one move; another process waits.

    Raises:
        WorkError: if there is a record of this seed of more steps, or the file is damaged.
    """
    with one_at_a_time(folder, "recording a bug"):
        others = others_of(exhibit.bug, exhibit.seed, exhibit.steps, folder)
        runs = sorted([*others, exhibit], key=lambda one: one.seed)
        lines = ",\n ".join(json.dumps(asdict(one), ensure_ascii=False) for one in runs)
        text = f"[\n {lines}\n]\n"
        path = folder / f"{exhibit.bug}.json"
        write_atomically(path, lambda to: to.write_text(text, encoding="utf-8"))


def others_of(name: str, seed: int, steps: int, folder: Path) -> list[Exhibit]:
    """The recorded runs of other seeds. Raises WorkError as `record` does."""
    runs = recorded(name, folder)
    if longer := [one for one in runs if one.seed == seed and one.steps > steps]:
        raise WorkError(
            f"{folder} holds a run of {name} with seed {seed} of {longer[0].steps:,} steps; one of "
            f"{steps:,} does not replace it. Give another folder, or seed."
        )
    return [one for one in runs if one.seed != seed]


def recorded(name: str, folder: Path = RECORDS) -> list[Exhibit]:
    """The recorded runs of a bug, by seed. Raises WorkError if the file is damaged."""
    path = folder / f"{name}.json"
    if not path.exists():
        return []
    advice = "Restore it, or move it away."
    runs = (checked(run, FIELDS, path, advice) for run in read_list(path, advice))
    return [Exhibit(**{field: run[field] for field in FIELDS}) for run in runs]
