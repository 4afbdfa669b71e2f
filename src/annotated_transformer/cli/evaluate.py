"""`annotated-transformer evaluate`: scores with signatures, perplexity, speed."""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.cli.options import (
    add_device,
    add_format,
    add_run_dir,
    add_search,
    positive,
    print_json,
    print_lines,
    show_progress,
)
from annotated_transformer.data import (
    ParallelCorpus,
    Split,
    Vocabulary,
    encode_split,
    load_corpus,
)
from annotated_transformer.errors import CallError, WorkError
from annotated_transformer.likelihood import Likelihood, split_likelihood
from annotated_transformer.scoring import Score, lower_tokenised_bleu, score_corpus
from annotated_transformer.training import RunConfig, load_run
from annotated_transformer.training.devices import choose_device
from annotated_transformer.transformer import Transformer
from annotated_transformer.translation import longest_source, translate_sentences

ALPHAS = (0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8)


def register(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "evaluate",
        help="BLEU with its signature, chrF, perplexity, speed",
        description="Translate a split and score it, every score with its signature. Loss and "
        "perplexity are those of the references, per token, without label smoothing.",
    )
    parser.set_defaults(run=run)
    add_run_dir(parser)
    parser.add_argument("--data", help="corpus by name (default the run's own)")
    parser.add_argument("--data-dir", type=Path, help="folder with SPLIT.en, SPLIT.de")
    parser.add_argument("--split", default="test", help="default test")
    add_search(parser)
    parser.add_argument(
        "--alpha-from",
        metavar="SPLIT",
        help="choose alpha on this split instead, by lower-cased BLEU, from "
        + ", ".join(map(str, ALPHAS)),
    )
    parser.add_argument("--batch-tokens", type=positive, default=2048, help="of a search's batch")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the translations here")
    add_format(parser)
    add_device(parser)


def run(arguments: argparse.Namespace) -> int:
    """Translate, score, and say so."""
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    if arguments.output is not None:
        check_writable(arguments.output)  # before the work, not after it
    model, vocabulary, config = load_run(arguments.run_dir, choose_device(arguments.device))
    corpus = load_corpus(
        arguments.data or (None if arguments.data_dir else config.data["name"]),
        data_dir=arguments.data_dir or (None if arguments.data else config.data["data_dir"]),
        source=config.data["source"],
        target=config.data["target"],
    )
    split = corpus[arguments.split]
    translate = partial(
        translate_sentences,
        model,
        vocabulary,
        beam_size=arguments.beam,
        batch_tokens=arguments.batch_tokens,
    )
    alpha, tuning = arguments.alpha, None
    if arguments.alpha_from == arguments.split:
        raise CallError(
            f"--alpha-from {arguments.alpha_from} would choose the length penalty on the very "
            "split that is scored: name another split, such as valid."
        )
    shared = None
    if arguments.alpha_from is not None:
        shared = count_shared(arguments.split, split, arguments.alpha_from, corpus)
        tuning = try_alphas(translate, corpus[arguments.alpha_from], corpus.target_language)
        alpha = max(tuning, key=lambda tried: tried["score"])["alpha"]
    began, began_cpu = time.perf_counter(), time.process_time()
    hypotheses = translate(
        split.source, alpha=alpha, progress=partial(show_progress, arguments.split)
    )
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - began_cpu
    unwritten = None
    if arguments.output is not None:
        unwritten = write_lines(arguments.output, hypotheses)
    scores = score_corpus(hypotheses, split.target, language=corpus.target_language)
    likelihood, left_out = likelihood_of(model, vocabulary, config, split)
    report = {
        "run_dir": str(arguments.run_dir),
        "data": corpus.name,
        "split": arguments.split,
        "source": corpus.source_language,
        "target": corpus.target_language,
        "sentences": len(split),
        "beam": arguments.beam,
        "alpha": alpha,
        "alpha_chosen_on": arguments.alpha_from,
        "sentences_also_there": shared,
        "tuning": tuning,
        "lower_case_model": config.training.lowercase,
        "scores": [asdict(score) for score in scores],
        **asdict(likelihood),
        "left_out_of_likelihood": left_out,
        "length_ratio": length_ratio(hypotheses, split.target),
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "sentences_per_second": len(split) / seconds,
        "device": str(model.device),
        "threads": torch.get_num_threads(),
    }
    if arguments.format == "json":
        print_json(report)
    else:
        print_lines(as_text(report, scores, likelihood))
    if unwritten is not None:
        raise unwritten
    return 0


def count_shared(name: str, scored: Split, alpha_from: str, corpus: ParallelCorpus) -> int:
    """How many of the scored sentences also stand in the split that alpha is chosen on.

    A few short captions may well stand in both, which is said. If all do, that split is the scored
    one under another name.

    Raises:
        CallError: if all do.
    """
    there = {" ".join(line.split()) for line in corpus[alpha_from].source}
    shared = sum(" ".join(line.split()) in there for line in scored.source)
    if shared == len(scored):
        raise CallError(
            f"--alpha-from {alpha_from}: all {shared:,} sentences of {name}, which is scored, also "
            f"stand in {alpha_from}, so the length penalty would be chosen on them: name another "
            "split."
        )
    if shared:
        print(
            f"{shared:,} of the {len(scored):,} sentences of {name} also stand in {alpha_from}, "
            "on which the length penalty is chosen",
            file=sys.stderr,
        )
    return shared


def try_alphas(
    translate: Callable[..., list[str]], validation: Split, language: str
) -> list[dict[str, float]]:
    """Lower-cased BLEU of the validation sentences for each alpha of the grid, in its order.

    Returns:
        {"alpha": ..., "score": ...} for each, so that a record shows what the choice was between.
    """
    tuning = []
    for alpha in ALPHAS:
        progress = partial(show_progress, f"validation, alpha {alpha}")
        hypotheses = translate(validation.source, alpha=alpha, progress=progress)
        score = lower_tokenised_bleu(hypotheses, validation.target, language).value
        tuning.append({"alpha": alpha, "score": score})
    return tuning


def likelihood_of(
    model: Transformer, vocabulary: Vocabulary, config: RunConfig, split: Split
) -> tuple[Likelihood, int]:
    """The likelihood of a split's references, and how many pairs were too long for it."""
    encoded = encode_split(split, vocabulary, max_length=longest_source(model))
    return split_likelihood(model, encoded, config.training.max_tokens), encoded.skipped


def length_ratio(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Words of the translations over words of the references: below 1 they are too short."""
    return sum(len(line.split()) for line in hypotheses) / max(
        1, sum(len(line.split()) for line in references)
    )


def check_writable(path: Path) -> None:
    """Raises WorkError if no file can be written there. Nothing that is there is touched."""
    is_new = not path.exists()
    if not (is_new or path.is_file() or path.is_dir()):
        return  # a pipe or a terminal: opening it would already say something
    try:
        with open(path, "ab"):
            pass
        if is_new:
            path.unlink()
    except OSError as error:
        raise WorkError(
            f"the translations cannot be written to {path}: {error}. Nothing was translated."
        ) from error


def write_lines(path: Path, lines: Sequence[str]) -> WorkError | None:
    """One translation a line; where that fails, into a temporary file instead.

    Returns:
        What to raise once the scores are printed: where the translations are. None if all is well.
    """
    text = "".join(line + "\n" for line in lines)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        said = f"the translations cannot be written to {path}: {error}"
        try:
            with tempfile.NamedTemporaryFile("wb", suffix=".txt", delete=False) as file:
                file.write(text.encode("utf-8"))
        except OSError as another:
            return WorkError(f"{said}. Neither into a temporary file: {another}.")
        return WorkError(f"{said}. They are in {file.name} instead.")
    print(f"translations written to {path}", file=sys.stderr)
    return None


def as_text(report: dict[str, Any], scores: list[Score], likelihood: Likelihood) -> list[str]:
    """The report for people."""
    chosen = ""
    if report["tuning"]:
        tried = ", ".join(f"{one['alpha']}: {one['score']:.2f}" for one in report["tuning"])
        chosen = f" (chosen on {report['alpha_chosen_on']}: {tried})"
    return [
        f"{report['data']} {report['split']}, {report['source']} to {report['target']}, "
        f"{report['sentences']:,} sentences",
        f"beam {report['beam']}, alpha {report['alpha']}{chosen}",
        *(f"{score.name:16} {score.value:7.2f}   {score.signature}" for score in scores),
        f"{'loss':16} {likelihood.loss:7.3f}   nats per token, not smoothed, "
        f"{likelihood.tokens:,} tokens",
        f"{'perplexity':16} {likelihood.perplexity:7.2f}   per token of the model's vocabulary",
        f"{'accuracy':16} {100 * likelihood.accuracy:7.2f}   % of tokens, the true past given",
        f"{'speed':16} {report['sentences_per_second']:7.1f}   sentences a second on "
        f"{report['device']}, {report['threads']} threads",
    ]
