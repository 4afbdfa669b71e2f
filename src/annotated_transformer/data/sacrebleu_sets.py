"""The published test sets that sacreBLEU knows by name, fetched by it: `sacrebleu:wmt14/full`.

sacreBLEU keeps them in its own folder (`~/.sacrebleu`) and checks their checksums. They are test
sets: a source and a reference for each pair of languages, nothing to train on.
"""

import difflib
import socket
from pathlib import Path
from typing import Any

from sacrebleu.dataset import DATASETS

from annotated_transformer.data.corpus import ParallelCorpus, Split
from annotated_transformer.data.download import TIMEOUT, NoNetworkError
from annotated_transformer.data.text_file import inspect
from annotated_transformer.errors import CallError, WorkError

PREFIX = "sacrebleu:"


def load_sacrebleu_set(name: str, source: str = "en", target: str = "de") -> ParallelCorpus:
    """A test set by sacreBLEU's name for it, with or without the prefix, as the split "test".

    Raises:
        CallError: there is no such set, it lacks these languages or has several references.
        NoNetworkError: it is not here and cannot be fetched.
        WorkError: what was fetched is not what was published.
    """
    wanted = name.removeprefix(PREFIX)
    if wanted not in DATASETS:
        close = difflib.get_close_matches(wanted, DATASETS, 3) or sorted(DATASETS)[-5:]
        raise CallError(
            f"sacreBLEU knows no test set {wanted!r}; it knows {len(DATASETS)}, among them "
            f"{', '.join(close)} (`sacrebleu --list` shows all)."
        )
    dataset, pair = DATASETS[wanted], f"{source}-{target}"
    if pair not in dataset.langpairs:
        raise CallError(
            f"sacreBLEU's {wanted} has no {pair}; it has {', '.join(sorted(dataset.langpairs))}: "
            "give --source and --target."
        )
    source_file, references = fetch(dataset, pair)
    if len(references) != 1:
        raise CallError(
            f"sacreBLEU's {wanted} has {len(references)} references a sentence, and one is scored "
            "here: choose another set, or give one of them with --data-dir."
        )
    texts = inspect(source_file), inspect(references[0])
    split = Split(list(texts[0]), list(texts[1]))
    files = {text.path.name: {"sha256": text.sha256, "lines": text.lines} for text in texts}
    return ParallelCorpus(f"{PREFIX}{wanted}", source, target, {"test": split}, {"files": files})


def fetch(dataset: Any, pair: str) -> tuple[Path, list[Path]]:
    """The files of a test set, fetched by sacreBLEU where they are not here yet."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT)  # sacreBLEU itself would wait for ever
    try:
        return (
            Path(dataset.get_source_file(pair)),
            [Path(path) for path in dataset.get_reference_files(pair)],
        )
    except OSError as error:  # urllib's errors among them
        reason = getattr(error, "reason", None) or error
        raise NoNetworkError(
            f"sacreBLEU's {dataset.name} is not on this machine and cannot be fetched ({reason}): "
            "connect, or give a folder with test.SOURCE and test.TARGET as --data-dir."
        ) from error
    except SystemExit as error:  # sacreBLEU has logged why
        raise WorkError(
            f"sacreBLEU could not fetch {dataset.name}; what it says stands above."
        ) from error
    except Exception as error:  # whatever reading a broken archive raises
        raise WorkError(
            f"what sacreBLEU fetched of {dataset.name} cannot be read ({error}): delete it from "
            "sacreBLEU's folder (~/.sacrebleu) and fetch again."
        ) from error
    finally:
        socket.setdefaulttimeout(before)
