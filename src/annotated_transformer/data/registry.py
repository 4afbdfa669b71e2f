"""The corpora by name."""

from pathlib import Path

from annotated_transformer.data.copy_task import copy_corpus
from annotated_transformer.data.corpus import ParallelCorpus
from annotated_transformer.data.folder import read_folder
from annotated_transformer.data.grammar import generate_corpus
from annotated_transformer.data.gum import gum, load_gum
from annotated_transformer.data.multi30k import load_multi30k, multi30k
from annotated_transformer.data.published import Published
from annotated_transformer.data.tatoeba import load_tatoeba, tatoeba
from annotated_transformer.data.wmt14 import load_wmt14, other_language, wmt14
from annotated_transformer.errors import CallError

CORPORA = {
    "grammar": "English to German from a hand-written grammar, generated here (no download)",
    "copy": "rows of digits to be said back, generated here (no download)",
    "multi30k": "29,000 captions of photographs in English, German and French (fetched)",
    "tatoeba": "165,000 pairs of everyday sentences, English and German (fetched)",
    "wmt14": "the paper's own: 4.5 million pairs with German, 36 million with French (fetched)",
    "gum": "4,600 English sentences with their constituency trees, for parsing (fetched)",
    "folder": "your own parallel text: train.en train.de valid.en ... in --data-dir",
}

LOADERS = {
    "multi30k": load_multi30k,
    "tatoeba": load_tatoeba,
    "wmt14": load_wmt14,
    "gum": load_gum,
}


def published_corpus(name: str, source: str = "en", target: str = "de") -> Published | None:
    """What is fetched for a corpus in these languages; None where nothing is."""
    if name == "multi30k":
        return multi30k((source, target))
    if name == "tatoeba":
        return tatoeba()
    if name == "wmt14":
        return wmt14(other_language(source, target))
    return gum() if name == "gum" else None


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
        data_dir: folder to read, for "folder" and the corpora that are otherwise fetched.
        source: language to translate from, as files name it.
        target: language to translate to.

    Raises:
        CallError: no such corpus, or a data_dir too many or too few.
    """
    if name is None:
        name = "folder" if data_dir else "grammar"
    if name not in CORPORA:
        raise CallError(f"there is no corpus {name!r}; expected one of {', '.join(CORPORA)}")
    if name in LOADERS:
        return LOADERS[name](data_dir, source, target)
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
