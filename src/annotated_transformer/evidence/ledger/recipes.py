"""The recipes of recorded runs: their settings, and which of the runs are seeds of one recipe."""

from collections.abc import Sequence
from statistics import mean
from typing import Any

from annotated_transformer.after.config import LATER, config_from_dict
from annotated_transformer.evidence.ledger.recorded_runs import RecordedRun, RecordedScore
from annotated_transformer.training.departures import training_departures
from annotated_transformer.training.settings import TrainingConfig

NO_CHANGE = {"seed", "threads", "compile", "keep"}  # settings that are no part of a recipe


def recipe_of(run: RecordedRun) -> dict[str, Any]:
    """Every setting of model and training that is part of the recipe, by its name.

    What an older record does not name, because no option changed it yet, is at its default.
    """
    model = config_from_dict(run.configuration["model"]).to_dict()
    training = TrainingConfig.from_dict(run.configuration["training"]).to_dict()
    later = {name: value for name, value in LATER.items() if name not in model}
    settings = model | later | training
    return {name: value for name, value in settings.items() if name not in NO_CHANGE}


def departures(configuration: dict[str, Any]) -> list[str]:
    """The named options, of model and of training, that are not the paper's."""
    model = config_from_dict(configuration["model"])
    training = TrainingConfig.from_dict(configuration["training"])
    return model.departures() + training_departures(training)


def changes(before: RecordedRun, after: RecordedRun) -> list[str]:
    """The settings that differ between the recipes of two runs, as "epochs 44 → 84"."""
    old, new = recipe_of(before), recipe_of(after)
    return [
        f"{name} {_said(old[name])} → {_said(new[name])}" for name in old if old[name] != new[name]
    ]


def _said(value: Any) -> str:
    return "unset" if value is None else str(value)


def by_recipe(runs: Sequence[RecordedRun]) -> list[list[RecordedRun]]:
    """The runs in groups of one recipe, each by its seeds.

    The groups that finished come first, the highest mean on the validation split before the others.
    """
    groups: dict[str, list[RecordedRun]] = {}
    for run in runs:
        groups.setdefault(repr(recipe_of(run)), []).append(run)
    by_seed = [sorted(group, key=lambda run: run.seeds["training"]) for group in groups.values()]
    return sorted(
        by_seed,
        key=lambda group: (
            group[0].status != "finished",
            -mean(validation_bleu(run) or 0.0 for run in group),
        ),
    )


def validation_bleu(run: RecordedRun) -> float | None:
    """BLEU on the validation split, lower-cased and tokenised: of the search that was chosen there,
    or as it was recorded there; None if neither is."""
    if run.tuning:
        return run.tuning[0].best[0].score
    score = run.score("valid", "lower-tokenised")
    return None if score is None else score.value


def of_all_seeds(group: Sequence[RecordedRun], score: RecordedScore) -> list[RecordedScore]:
    """A figure of one run and those of its kind of the other seeds: their α may be others."""

    def kind(one: RecordedScore) -> tuple[object, ...]:
        return one.split, one.protocol, one.beam, one.alpha_chosen_on

    found = (next((one for one in run.scores if kind(one) == kind(score)), None) for run in group)
    return [one for one in found if one is not None]
