"""What `evaluate --explain` gathers of texts, a model and its run."""

import argparse
import logging
from collections.abc import Sequence

from annotated_transformer.cli.report import Explanation, SearchReport
from annotated_transformer.cli.sentences import Progress
from annotated_transformer.cli.tuning import each_warning_once
from annotated_transformer.data import ParallelCorpus, Vocabulary
from annotated_transformer.evaluation import translation
from annotated_transformer.evaluation.causes_in_a_model import Trained
from annotated_transformer.evaluation.causes_in_texts import Texts
from annotated_transformer.evaluation.explain import causes, nothing_seen
from annotated_transformer.evaluation.translation import translate_sentences
from annotated_transformer.shipped import FOLDER as SHIPPED
from annotated_transformer.training import RunConfig, RunDirectory
from annotated_transformer.training.checkpoints import list_checkpoints
from annotated_transformer.transformer import Transformer


def explain(
    arguments: argparse.Namespace,
    corpus: ParallelCorpus,
    hypotheses: Sequence[str],
    model: tuple[Transformer, Vocabulary, RunConfig] | None,
    search: SearchReport | None,
) -> Explanation:
    """The causes of a score, of translations and of the model that wrote them, if one did."""
    split = corpus[arguments.split]
    texts = Texts(list(hypotheses), list(split.target), list(split.source), corpus.target_language)
    trained = None
    if model is not None:
        assert search is not None
        trained = what_is_known(arguments, *model, search)
    with each_warning_once(logging.getLogger("sacrebleu")), each_warning_once(translation.logger):
        found = causes(texts, trained)
    return Explanation(found, nothing_seen(found, trained))


def what_is_known(
    arguments: argparse.Namespace,
    model: Transformer,
    vocabulary: Vocabulary,
    config: RunConfig,
    search: SearchReport,
) -> Trained:
    """Of a model, its search and its run."""
    directory = RunDirectory(arguments.run_dir or SHIPPED)
    made_from, pairs = directory.made_from(), None
    if config.recipe is not None:
        pairs = config.recipe.pairs or config.data["splits"].get("train", {}).get("pairs")

    def translate(sentences: Sequence[str], beam: int, alpha: float) -> list[str]:
        what = f"{arguments.split}, beam {beam}, alpha {alpha}"
        progress = Progress(len(sentences), 0, silent=False, what=what)
        return translate_sentences(
            model,
            vocabulary,
            sentences,
            beam_size=beam,
            alpha=alpha,
            max_extra=search.max_extra,
            batch_tokens=arguments.batch_tokens,
            progress=progress.of_search,
        )

    return Trained(
        translate=translate,
        beam=search.beam,
        alpha=search.alpha,
        imported=config.recipe is None,
        steps=made_from.steps,
        best=bool(made_from.best),
        checkpoints=len(list_checkpoints(directory.checkpoints)),
        metrics=directory.read_metrics(),
        pairs=pairs,
        pieces=lambda words: [len(ids) for ids in vocabulary.encode_batch(words)],
        run_dir=str(directory.path),
    )
