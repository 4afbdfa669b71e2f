"""What book/low_bleu.md says of recorded runs is what they have."""

from collections.abc import Sequence
from pathlib import Path

from annotated_transformer.config import MAX_EXTRA
from annotated_transformer.evidence.ledger.recipes import by_recipe
from annotated_transformer.evidence.ledger.recorded_runs import RecordedRun, load_run_records

ROOT = Path(__file__).resolve().parents[2]
WORDS = {2: "two", 3: "three", 4: "four"}


def cased(run: RecordedRun, split: str, beam: int | None = None) -> float:
    """A recorded BLEU, of the first search if none is named."""
    return next(
        one.value
        for one in run.scores
        if (one.split, one.protocol) == (split, "cased") and beam in (None, one.beam)
    )


def test_what_the_page_says_of_recorded_runs_is_what_they_have():
    page = " ".join((ROOT / "book" / "low_bleu.md").read_text("utf-8").split())
    runs = {run.name: run for run in load_run_records(ROOT / "results")}
    captions = [run for run in runs.values() if run.data["name"] == "multi30k"]
    flickr = "test_2016_flickr"
    tatoeba, small_letters = runs["tatoeba_base_gpu"], runs["multi30k_tiny_lower_5000"]
    beam = cased(tatoeba, "test", 4)
    longer = [
        cased(runs[f"{name}_84"], flickr) - cased(runs[name], flickr)
        for name in ("multi30k_tiny_postnorm_rdrop", "multi30k_tiny_rdrop")
    ]
    rdrop, gains, losses = runs["multi30k_tiny_postnorm_rdrop_84"], [], []
    others = []
    for run in (run for run in captions if run.tuning):
        tuning = run.tuning[0]
        best_of = {
            alpha: max(one.score for one in tuning.tried if one.alpha == alpha)
            for alpha in {one.alpha for one in tuning.tried}
        }
        gains.append(max(best_of.values()) - best_of[0.6])
        usual = {one.alpha: one.score for one in tuning.tried if one.max_extra == MAX_EXTRA}
        rotated = run.configuration["model"].get("relative_positions") == "rope"
        (losses if rotated else others).append(usual[1.6] - usual[1.8])
    recipes = apart([[cased(run, flickr) for run in group] for group in by_recipe(captions)])
    bases = [
        load_run_records(ROOT / "results" / "ablations" / plan)
        for plan in ("after_multi30k", "table3_multi30k")
    ]
    fives = [[run for run in study if run.name.startswith("base_s")] for study in bases]
    assert [len(five) for five in fives] == [5, 5]
    studies = apart([[cased(run, "valid", 4) for run in five] for five in fives])
    assert len(losses) == 3
    by_both = both_searches(captions)
    less = [paper - chosen for run, split, chosen, paper in by_both]
    longer_texts = [
        words_of(run, split) / words_of(run, f"{split}.beam4") for run, split, *_ in by_both
    ]
    lower = small_letters.score(flickr, "lower-tokenised")
    assert lower is not None
    for said in (
        f"has {cased(tatoeba, 'test', 1):.2f} by greedy search and {beam:.2f} with the paper's",
        f"everyday sentences has {cased(tatoeba, f'multi30k {flickr}'):.2f} on captions",
        f"captions has {cased(rdrop, flickr):.2f}",
        f"has {cased(small_letters, flickr):.2f} cased and {lower.value:.2f} lower-cased",
        f"gave {longer[0]:.1f} and {longer[1]:.1f} points",
        f"gained {min(gains):.1f} to {max(gains):.1f} points",
        f"the three seeds with rotations lost {min(losses):.1f} to {max(losses):.1f}, "
        f"the other runs {max(others):.1f} at most",
        f"{WORDS[len({run.name for run, *_ in by_both})]} trainings were scored on two test sets",
        f"had {min(less):.1f} to {max(less):.1f} points *less* than it each time",
        f"is {100 * min(longer_texts) - 100:.0f} to {100 * max(longer_texts) - 100:.0f} % longer",
        f"lay {' and '.join(recipes)} points apart in the two recorded recipes",
        f"and {' and '.join(studies)} in two studies of smaller models with five seeds each",
    ):
        assert said in page
    sizes = [run.cost["parameters"] for run in (tatoeba, rdrop)]
    assert round(sizes[0] / sizes[1]) == 19


def apart(groups: Sequence[Sequence[float]]) -> list[str]:
    """How far the scores of each group lie apart, the closest first."""
    return sorted(f"{max(group) - min(group):.1f}" for group in groups if len(group) > 1)


def both_searches(runs: Sequence[RecordedRun]) -> list[tuple[RecordedRun, str, float, float]]:
    """Runs and test sets that were scored by a search chosen on valid and by the paper's."""
    found = []
    for run in runs:
        for split in ("test_2016_flickr", "test_2017_flickr"):
            chosen = run.chosen_score(split, "cased")
            paper = [
                one.value
                for one in run.scores
                if (one.split, one.protocol, one.alpha_chosen_on) == (split, "cased", "the paper")
            ]
            if chosen and paper:
                found.append((run, split, chosen.value, *paper))
    return found


def words_of(run: RecordedRun, name: str) -> int:
    path = ROOT / "results" / run.name / f"translations.{name}.txt"
    return len(path.read_text("utf-8").split())
