"""What `annotated-transformer evaluate` does: translate, score, report."""

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial

import torch

from annotated_transformer.cli.explanation import explain
from annotated_transformer.cli.options import ALPHAS, print_json, print_lines
from annotated_transformer.cli.report import Report, SearchReport
from annotated_transformer.cli.scores import (
    compare,
    count_empty,
    length_ratio,
    score_with_intervals,
)
from annotated_transformer.cli.sentences import Progress
from annotated_transformer.cli.translation_files import (
    check_writable,
    read_translations,
    refuse_to_overwrite,
    write_lines,
)
from annotated_transformer.cli.tuning import count_shared, try_searches
from annotated_transformer.data import (
    ParallelCorpus,
    Split,
    Vocabulary,
    encode_split,
    load_corpus,
)
from annotated_transformer.data.sacrebleu_sets import PREFIX, load_sacrebleu_set
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.forensics import ProtocolScore, score_under_every_protocol
from annotated_transformer.evaluation.likelihood import Likelihood, split_likelihood
from annotated_transformer.evaluation.significance import RESAMPLES
from annotated_transformer.evaluation.translation import (
    check_room,
    longest_source,
    translate_sentences,
)
from annotated_transformer.shipped import FOLDER as SHIPPED
from annotated_transformer.training import RunConfig, load_run
from annotated_transformer.training.devices import choose_device
from annotated_transformer.transformer import Transformer


def evaluate(arguments: argparse.Namespace) -> int:
    """Translate, score, and say so."""
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    if arguments.output is not None:  # before the work, not after it
        refuse_to_overwrite(arguments.output)
        check_writable(arguments.output)
    trained = None if arguments.hypotheses else load_trained(arguments)
    corpus = load_references(arguments, None if trained is None else trained[2])
    split = corpus[arguments.split]
    others = arguments.against and read_translations(arguments.against, len(split), arguments.split)
    search = unwritten = None
    if trained is None:
        hypotheses = read_translations(arguments.hypotheses, len(split), arguments.split)
    else:
        hypotheses, search = translate_split(arguments, *trained, corpus)
        if arguments.output is not None:
            unwritten = write_lines(arguments.output, hypotheses)
    try:
        report = report_on(arguments, corpus, hypotheses, others, trained, search)
        if arguments.format == "json":
            print_json(report.as_json())
        else:
            print_lines(report.as_text())
    except BaseException:
        if unwritten is not None:  # nobody else knows where they are
            print(unwritten, file=sys.stderr)
        raise
    if unwritten is not None:
        raise unwritten
    return 0


def load_trained(arguments: argparse.Namespace) -> tuple[Transformer, Vocabulary, RunConfig]:
    """The model named, or the small one that comes with the package."""
    if arguments.run_dir is None:
        print(
            "evaluating the small model that comes with the package; --run-dir names another",
            file=sys.stderr,
        )
    return load_run(arguments.run_dir or SHIPPED, choose_device(arguments.device))


def load_references(arguments: argparse.Namespace, config: RunConfig | None) -> ParallelCorpus:
    """The corpus named; the run's own where none is."""
    data = {"name": None, "data_dir": None, "source": "en", "target": "de"}
    if config is not None:
        if config.recipe is None and not (arguments.data or arguments.data_dir):
            raise CallError(
                f"the model in {arguments.run_dir} was imported, so it has no corpus of its own: "
                "give the references with --data or --data-dir."
            )
        data |= {name: config.data[name] for name in data}
    source, target = arguments.source or data["source"], arguments.target or data["target"]
    assert source is not None
    assert target is not None
    if (arguments.data or "").startswith(PREFIX):
        if arguments.data_dir:
            raise CallError("sacreBLEU fetches its test sets itself: leave out --data-dir.")
        return load_sacrebleu_set(arguments.data, source, target)
    return load_corpus(
        arguments.data or (None if arguments.data_dir else data["name"]),
        data_dir=arguments.data_dir or (None if arguments.data else data["data_dir"]),
        source=source,
        target=target,
    )


def translate_split(
    arguments: argparse.Namespace,
    model: Transformer,
    vocabulary: Vocabulary,
    config: RunConfig,
    corpus: ParallelCorpus,
) -> tuple[list[str], SearchReport]:
    """The translations of a split, and what a report says of the search."""
    split = corpus[arguments.split]
    for max_extra in arguments.max_extra:
        check_room(model, max_extra)
    translate = partial(
        translate_sentences,
        model,
        vocabulary,
        beam_size=arguments.beam,
        batch_tokens=arguments.batch_tokens,
    )
    alpha, max_extra = arguments.alpha, arguments.max_extra[0]
    tuning = shared = None
    if arguments.alpha_from is not None:
        shared = count_shared(arguments.split, split, arguments.alpha_from, corpus)
        tuning = try_searches(
            translate,
            [(alpha, extra) for extra in arguments.max_extra for alpha in ALPHAS],
            corpus[arguments.alpha_from],
            corpus.target_language,
        )
        best = max(tuning, key=lambda tried: tried.score)
        alpha, max_extra = best.alpha, best.max_extra
    began, began_cpu = time.perf_counter(), time.process_time()
    progress = Progress(len(split), 0, silent=False, what=arguments.split)
    hypotheses = translate(
        split.source, alpha=alpha, max_extra=max_extra, progress=progress.of_search
    )
    seconds = time.perf_counter() - began
    return hypotheses, SearchReport(
        beam=arguments.beam,
        alpha=alpha,
        max_extra=max_extra,
        alpha_chosen_on=arguments.alpha_from,
        sentences_also_there=shared,
        tuning=tuning,
        lower_case_model=None if config.recipe is None else config.recipe.lowercase,
        seconds=seconds,
        cpu_seconds=time.process_time() - began_cpu,
        sentences_per_second=len(split) / seconds,
        device=str(model.device),
        threads=torch.get_num_threads(),
    )


def report_on(
    arguments: argparse.Namespace,
    corpus: ParallelCorpus,
    hypotheses: Sequence[str],
    others: Sequence[str] | None,
    trained: tuple[Transformer, Vocabulary, RunConfig] | None,
    search: SearchReport | None,
) -> Report:
    """Score translations, compare them with others, and ask the model about the references."""
    split, language = corpus[arguments.split], corpus.target_language
    scored = score_with_intervals(hypotheses, split.target, language, arguments.bootstrap)
    against = None
    if others is not None:
        resampled = arguments.bootstrap or RESAMPLES
        compared = compare(scored, hypotheses, others, split.target, language, resampled)
        against = str(arguments.against), compared
    protocols: list[ProtocolScore] = []
    if arguments.every_protocol:
        protocols = score_under_every_protocol(hypotheses, split.target, language)
    likelihood, left_out = None, 0
    if trained is not None and trained[2].recipe is not None:
        likelihood, left_out = likelihood_of(*trained, split)
    return Report(
        run_dir=None if trained is None else str(arguments.run_dir or "shipped"),
        hypotheses=arguments.hypotheses and str(arguments.hypotheses),
        data=corpus.name,
        split=arguments.split,
        source=corpus.source_language,
        target=language,
        sentences=len(split),
        scores=scored,
        every_protocol=protocols,
        against=against,
        length_ratio=length_ratio(hypotheses, split.target),
        empty=count_empty(hypotheses, split.target),
        search=search,
        likelihood=likelihood,
        left_out_of_likelihood=left_out,
        explanation=explain(arguments, corpus, hypotheses, trained, search)
        if arguments.explain
        else None,
    )


def likelihood_of(
    model: Transformer, vocabulary: Vocabulary, config: RunConfig, split: Split
) -> tuple[Likelihood, int]:
    """The likelihood of a split's references, and how many pairs were too long for it."""
    encoded = encode_split(split, vocabulary, max_length=longest_source(model, 0))
    return split_likelihood(model, encoded, config.training.max_tokens), encoded.skipped
