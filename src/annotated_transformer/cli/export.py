"""`annotated-transformer export`: a trained model as one folder to hand on."""

import argparse
import sys
from pathlib import Path
from typing import Any

from annotated_transformer.cli.options import add_run_dir
from annotated_transformer.errors import CallError, WorkError


def register(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Write weights, vocabulary, configuration, curve, scores and a model card "
        "into one folder, which `translate` and `evaluate` take for their --run-dir and the "
        "Hugging Face Hub takes as it is; or, with --format, the model for another engine."
    )
    parser.set_defaults(run=run)
    add_run_dir(parser)
    parser.add_argument("--output", type=Path, required=True, help="the new folder")
    parser.add_argument(
        "--format",
        choices=("folder", "huggingface", "ctranslate2", "ctranslate2-int8", "onnx"),
        default="folder",
        help="of what: this package's own folder; a model and a tokenizer of `transformers`; a "
        "model of CTranslate2, as it is or with rounded matrices; two ONNX graphs and a short "
        "program that translates with them",
    )
    parser.add_argument(
        "--scores",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="what `evaluate --format json` printed of this model, a file a split",
    )
    parser.add_argument(
        "--license", metavar="NAME", help="under which you hand the weights on, such as cc-by-4.0"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the folder and say what is in it."""
    from annotated_transformer.sharing.translator import Translator, must_be_free

    must_be_free(arguments.output)  # before the work, not after it
    translator = Translator.from_folder(arguments.run_dir)
    for report in map(read_report, arguments.scores):
        if report not in translator.reports:
            translator.reports.append(report)
    fields = {"license": arguments.license} if arguments.license else {}
    if arguments.format == "folder":
        translator.save_pretrained(arguments.output, model_card_kwargs=fields)
    else:
        from annotated_transformer.sharing.elsewhere import export

        export(translator, arguments.output, arguments.format, **fields)
    names = sorted(path.name for path in arguments.output.iterdir())
    print(f"{arguments.output} holds {', '.join(names)}", file=sys.stderr)
    if not arguments.license:
        print("The card names no licence: give one with --license.", file=sys.stderr)
    return 0


def read_report(path: Path) -> dict[str, Any]:
    """A report of `evaluate`. Raises CallError if it is none."""
    from annotated_transformer.sharing.translator import shareable
    from annotated_transformer.training.run_files import read_json

    advice = (
        "It is not what `evaluate --format json` prints: make it with "
        f"`annotated-transformer evaluate --run-dir ... --format json > {path}`."
    )
    try:
        return shareable(read_json(path, advice), path, advice)
    except WorkError as error:
        raise CallError(str(error)) from error
