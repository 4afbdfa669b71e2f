"""`annotated-transformer evaluate`: scores with signatures, perplexity, speed."""

import argparse
import sys
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
from annotated_transformer.data import Split, Vocabulary, encode_split, load_corpus
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
    if arguments.alpha_from is not None:
        tuning = try_alphas(translate, corpus[arguments.alpha_from], corpus.target_language)
        alpha = max(tuning, key=lambda tried: tried["score"])["alpha"]
    began, began_cpu = time.perf_counter(), time.process_time()
    hypotheses = translate(
        split.source, alpha=alpha, progress=partial(show_progress, arguments.split)
    )
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - began_cpu
    if arguments.output is not None:
        write_lines(arguments.output, hypotheses)
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
    return 0


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


def write_lines(path: Path, lines: Sequence[str]) -> None:
    """One translation a line. Raises WorkError if the file cannot be written."""
    try:
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise WorkError(f"the translations cannot be written to {path}: {error}.") from error
    print(f"translations written to {path}", file=sys.stderr)


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
