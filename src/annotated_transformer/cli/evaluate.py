"""`annotated-transformer evaluate`: scores with signatures, perplexity, speed."""

import argparse
import textwrap
from pathlib import Path

from annotated_transformer.cli.options import (
    ALPHAS,
    add_device,
    add_format,
    add_max_extra,
    add_search,
    positive,
    resamples,
)
from annotated_transformer.config import ALPHA, BEAM_SIZE, MAX_EXTRA
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.significance import RESAMPLES


def register(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = textwrap.dedent(
        """\
            Translate a split and score it, or score a file of translations; every score with its
            signature and its interval. Loss and perplexity are those of the references, per token,
            without label smoothing.
            """
    )
    parser.epilog = textwrap.dedent(
        """\
            examples:
              %(prog)s --run-dir runs/first --data grammar --split test
              %(prog)s --run-dir runs/first --against theirs.de
              %(prog)s --hypotheses ours.de --data-dir my_corpus --every-protocol
              %(prog)s --run-dir runs/first --split valid --explain
              %(prog)s --run-dir runs/big --data sacrebleu:wmt14/full --output ours.de
            """
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.set_defaults(run=run)
    parser.add_argument(
        "--run-dir",
        type=Path,
        help="folder of the run, as given to `train`; default the small model that comes with the "
        "package",
    )
    parser.add_argument(
        "--hypotheses",
        type=Path,
        metavar="FILE",
        help="score these translations, one a line, and no model",
    )
    parser.add_argument(
        "--data",
        help="corpus by name (default the run's own), or sacrebleu:NAME for a published test set",
    )
    parser.add_argument("--data-dir", type=Path, help="folder with SPLIT.en, SPLIT.de")
    parser.add_argument("--split", default="test", help="default test")
    parser.add_argument("--source", help="language of the source (default the run's own, or en)")
    parser.add_argument("--target", help="language of the target (default the run's own, or de)")
    add_search(parser)
    add_max_extra(parser, several=True)
    parser.add_argument(
        "--alpha-from",
        metavar="SPLIT",
        help="choose alpha on this split instead, by lower-cased BLEU, from "
        + ", ".join(map(str, ALPHAS)),
    )
    parser.add_argument("--batch-tokens", type=positive, default=2048, help="of a search's batch")
    parser.add_argument(
        "--bootstrap",
        type=resamples,
        default=RESAMPLES,
        metavar="N",
        help=f"resampled test sets for the intervals (default {RESAMPLES}; 0: no intervals; "
        f"--against then still draws {RESAMPLES})",
    )
    parser.add_argument(
        "--against",
        type=Path,
        metavar="FILE",
        help="other translations of the split, one a line: is the difference more than chance?",
    )
    parser.add_argument(
        "--every-protocol",
        action="store_true",
        help="BLEU of the same translations under each protocol in use as well",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="why the score is not higher: causes, each with what it takes where that can be "
        "measured; a model translates some sentences of the split again",
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write the translations here, a new file"
    )
    add_format(parser)
    add_device(parser)


def run(arguments: argparse.Namespace) -> int:
    """Translate, score, and say so."""
    check_call(arguments)
    from annotated_transformer.cli.evaluate_run import evaluate

    return evaluate(arguments)


def check_call(arguments: argparse.Namespace) -> None:
    """Raises CallError for options that contradict each other."""
    if arguments.alpha_from == arguments.split:
        raise CallError(
            f"--alpha-from {arguments.alpha_from} would choose the length penalty on the very "
            "split that is scored: name another split for one of the two."
        )
    if not arguments.hypotheses:
        if len(arguments.max_extra) > 1 and arguments.alpha_from is None:
            raise CallError(
                f"--max-extra was given {len(arguments.max_extra)} numbers, and nothing says which "
                "is best: give one, or --alpha-from SPLIT to choose."
            )
        return
    for name in ("run_dir", "alpha_from", "output"):
        if getattr(arguments, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise CallError(
                f"--hypotheses scores a file, and {option} belongs to a model: give one."
            )
    searched = (arguments.beam, arguments.alpha, arguments.max_extra)
    if searched != (BEAM_SIZE, ALPHA, [MAX_EXTRA]):
        raise CallError(
            "--hypotheses scores a file: no search is made, so leave out --beam, --alpha and "
            "--max-extra."
        )
    if not (arguments.data or arguments.data_dir):
        raise CallError("--hypotheses needs the references: give --data or --data-dir.")
