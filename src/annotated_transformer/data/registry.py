"""The corpora by name."""

from pathlib import Path

from annotated_transformer.data.copy_task import copy_corpus
from annotated_transformer.data.corpus import ParallelCorpus
from annotated_transformer.data.folder import read_folder
from annotated_transformer.data.grammar import generate_corpus
from annotated_transformer.data.multi30k import load_multi30k
from annotated_transformer.errors import CallError

CORPORA = {
    "grammar": "English to German from a hand-written grammar, generated here (no download)",
    "copy": "rows of digits to be said back, generated here (no download)",
    "multi30k": "29,000 captions of photographs in English, German and French (fetched)",
    "folder": "your own parallel text: train.en train.de valid.en ... in --data-dir",
}


def load_corpus(
    name: str | None = None,
    *,
    data_dir: Path | str | None = None,
    source: str = "en",
    target: str = "de",
) -> ParallelCorpus:
    """A corpus by name.

    Args:
        name: one of CORPORA. None is "folder" where a data_dir is given, else "grammar".
        data_dir: folder of parallel text, for "folder" and "multi30k".
        source: language to translate from, as files name it.
        target: language to translate to.

    Raises:
        CallError: no such corpus, or a data_dir too many or too few.
    """
    if name is None:
        name = "folder" if data_dir else "grammar"
    if name not in CORPORA:
        raise CallError(f"there is no corpus {name!r}; expected one of {', '.join(CORPORA)}")
    if name == "multi30k":
        return load_multi30k(data_dir, source, target)
    if name == "folder":
        if data_dir is None:
            raise CallError("the corpus 'folder' needs --data-dir, the folder to read")
        return read_folder(data_dir, source, target)
    if data_dir is not None:
        raise CallError(
            f"the corpus {name!r} is generated and reads no folder; leave out --data-dir, or "
            f"choose --data folder"
        )
    if name == "copy":
        return copy_corpus()
    if (source, target) != ("en", "de"):
        raise CallError(
            f"the corpus 'grammar' is from en to de; {source} to {target} was asked for. German "
            f"does not determine its English: the other direction could not be scored fairly"
        )
    return generate_corpus()
