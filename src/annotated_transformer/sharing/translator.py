"""A model with its vocabulary and its history, saved and loaded as one."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_type_hints

from huggingface_hub import ModelCard, ModelHubMixin, snapshot_download

from annotated_transformer.config import ALPHA, BEAM_SIZE, MAX_EXTRA
from annotated_transformer.data import Vocabulary
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.scoring import PROTOCOLS, Score
from annotated_transformer.evaluation.translation import translate_sentences
from annotated_transformer.sharing.card import LIBRARY, write_card
from annotated_transformer.training import RunConfig, RunDirectory, load_run
from annotated_transformer.training.checkpoints import write_atomically
from annotated_transformer.training.made_from import MadeFrom
from annotated_transformer.training.run_directory import model_weights
from annotated_transformer.training.run_files import checked, damaged, read_list
from annotated_transformer.transformer import Transformer

SCORES = "scores.json"
SHARED = ("config.json", "tokenizer.json", "metrics.jsonl", "model.safetensors", SCORES)

Report = dict[str, Any]  # what `evaluate --format json` prints
KEPT = {  # what others need of a report
    "data": str,
    "split": str,
    "source": str,
    "target": str,
    "sentences": int,
    "beam": int,
    "alpha": float,
    "alpha_chosen_on": str | None,
    "max_extra": int,
}
NOT_KNOWN = MadeFrom()


class Translator(ModelHubMixin, library_name=LIBRARY):
    """A trained model, its vocabulary, and all that is known of its training.

    `save_pretrained(folder)`, `from_pretrained(folder or name on the hub)` and
    `push_to_hub(name)` are those of the Hugging Face Hub's own mixin.

    Args:
        transformer: in evaluation mode.
        vocabulary: the one it was trained with.
        run: the model's sizes, the recipe, the data.
        metrics: the lines of the run's metrics.jsonl.
        reports: the scores that are known, one report a split.
        made_from: where the weights come from.
    """

    def __init__(
        self,
        transformer: Transformer,
        vocabulary: Vocabulary,
        run: RunConfig,
        metrics: Sequence[dict[str, Any]] = (),
        reports: Sequence[Report] = (),
        made_from: MadeFrom = NOT_KNOWN,
    ) -> None:
        self.transformer = transformer
        self.vocabulary = vocabulary
        self.run = run
        self.metrics = list(metrics)
        self.reports = list(reports)
        self.made_from = made_from

    @classmethod
    def from_folder(cls, path: Path | str, device: str = "cpu") -> "Translator":
        """The trained model of a run directory, or of a folder that was shared.

        Raises:
            CallError: if no run lives in `path` or it has no model.safetensors yet.
            WorkError: if a file of it is damaged.
        """
        transformer, vocabulary, run = load_run(path, device)
        directory = RunDirectory(Path(path))
        metrics, reports = directory.read_metrics(), read_reports(directory)
        return cls(transformer, vocabulary, run, metrics, reports, directory.made_from())

    def translate(
        self, sentences: Sequence[str], beam_size: int = BEAM_SIZE, alpha: float = ALPHA
    ) -> list[str]:
        """The best translation of each sentence (section 6.1); "" where there is none."""
        return translate_sentences(
            self.transformer, self.vocabulary, sentences, beam_size=beam_size, alpha=alpha
        )

    def save_pretrained(self, save_directory: Path | str, **options: Any) -> str | None:
        """Write the folder; see the mixin for its options.

        Raises:
            CallError: if there is something in it already. Nothing is overwritten.
        """
        must_be_free(Path(save_directory))
        return super().save_pretrained(save_directory, **options)

    def _save_pretrained(self, save_directory: Path) -> None:
        directory = RunDirectory(save_directory)
        directory.create(self._run_of_no_machine(), self.vocabulary)
        for line in self.metrics:
            directory.append_metrics(line)
        text = json.dumps(self.reports, indent=1, ensure_ascii=False) + "\n"
        write_atomically(save_directory / SCORES, lambda file: file.write_text(text, "utf-8"))
        directory.save_model(model_weights(self.transformer), self.made_from)

    def _run_of_no_machine(self) -> RunConfig:
        """Where the text lay on the machine that trained is nobody else's business."""
        return replace(self.run, data={**self.run.data, "data_dir": None})

    def generate_model_card(self, form: str = "folder", **fields: Any) -> ModelCard:
        """README.md of a folder of this form. `fields` are of its head, as license="cc-by-4.0"."""
        text = write_card(self.run, self.metrics, self.reports, self.made_from, fields, form)
        return ModelCard(text)

    @classmethod
    def _from_pretrained(cls, *, model_id: str, **hub: Any) -> "Translator":
        """Load a folder, fetched from the hub first where it is not on this machine."""
        if Path(model_id).is_dir():
            return cls.from_folder(model_id)
        options = ("revision", "cache_dir", "force_download", "token", "local_files_only")
        wanted = {name: hub[name] for name in options if name in hub}
        return cls.from_folder(snapshot_download(model_id, allow_patterns=list(SHARED), **wanted))


def must_be_free(folder: Path) -> None:
    """Raises CallError if something is there already."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CallError(
            f"{folder} is not an empty folder and nothing is overwritten: name another one."
        )


def read_reports(directory: RunDirectory) -> list[Report]:
    """The scores in a folder; none where there is no file of them.

    Raises:
        WorkError: if the file is damaged.
    """
    path, advice = directory.path / SCORES, "Restore it, or delete it."
    if not path.exists():
        return []
    return [shareable(report, path, advice) for report in read_list(path, advice)]


def shareable(report: Any, origin: Path, advice: str) -> Report:
    """What others need of a report of `evaluate`.

    Args:
        report: plain data.
        origin: the file that it stands in.
        advice: a sentence that says what to do if it is no such report.

    Raises:
        WorkError: if it is none.
    """
    checked(report, {"scores": list}, origin, advice)
    if report.get("hypotheses"):
        raise damaged(origin, "it scores a file of translations, which may be anybody's", advice)
    checked(report, KEPT, origin, advice, may_lack=("max_extra",))
    wanted = get_type_hints(Score)
    scores = [checked(one, wanted, f"a score in {origin}", advice) for one in report["scores"]]
    if unknown := [one["name"] for one in scores if one["name"] not in PROTOCOLS]:
        raise damaged(origin, f"there is no protocol {unknown[0]!r}", advice)
    known = {"max_extra": MAX_EXTRA, **report}  # which older reports lack
    kept = {name: known[name] for name in KEPT}
    return {**kept, "scores": [{name: one[name] for name in wanted} for one in scores]}
