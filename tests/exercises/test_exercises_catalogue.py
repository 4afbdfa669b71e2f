"""What a first check loads: its own topic, and no bank of another."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from annotated_transformer.exercises import catalogue as catalogues
from annotated_transformer.exercises.catalogue import (
    CHAPTER_OF,
    catalogue,
    chapter_of,
    find,
    nearest,
    of_topic,
    package_of,
)
from annotated_transformer.exercises.content.model.parameter_count_mistakes import told_apart
from annotated_transformer.exercises.exercise import Mistake

EXERCISES = Path(catalogues.__file__).parent / "content"
PACKAGES = {package_of(topic) for topic in CHAPTER_OF}
FIRST_CHECK = """
import sys
from annotated_transformer.exercises import check
check("masks.causal", lambda n: 1)
print(*sorted(name for name in sys.modules if name.startswith("annotated_transformer.exercises.")))
"""


def packages_among(modules: Iterator[str] | list[str]) -> set[str]:
    """The topics' packages that these modules belong to."""
    return {parts[3] for name in modules if len(parts := name.split(".")) > 3} & PACKAGES


def test_a_first_check_imports_no_bank_of_another_topic(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_CHECK],
        capture_output=True,
        text=True,
        check=True,
        env={"ANNOTATED_TRANSFORMER_PROGRESS": str(tmp_path / "progress.json")},
    )
    assert packages_among(done.stdout.splitlines()[-1].split()) == {"masks"}


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_no_topic_imports_another(package: str) -> None:
    imported = [
        node.module
        for path in (EXERCISES / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module
    ]
    assert packages_among(imported) == {package}


def test_what_is_found_alone_is_what_the_catalogue_holds() -> None:
    assert [name for topic in CHAPTER_OF for name in of_topic(topic)] == list(catalogue())
    for name, exercise in catalogue().items():
        assert find(f" {name} ") is exercise
    for other in ("", "masks", "masks.", "masks.casual", "nothing.here", None, 3):
        assert find(other) is None
    assert "masks.causal" in nearest("masks.casual")


def test_an_exercise_may_stand_in_another_chapter_than_its_topic() -> None:
    """Those that are named one by one are of the catalogue; all others follow their topic."""
    assert chapter_of("masks.causal") == "02_attention"
    apart = {i for i in catalogue() if chapter_of(i) != CHAPTER_OF[i.split(".")[0]]}
    turned = {name for name, exercise in catalogue().items() if exercise.kind == "test"}
    assert apart == set(catalogues._CHAPTER_OF_ONE) | turned


@pytest.mark.parametrize(
    ("ids", "complaint"),
    [
        (("masks.causal", "masks.causal"), "have one id"),
        (("masks.causal", "warmup.causal"), "is none of the topic 'masks'"),
    ],
)
def test_an_id_belongs_to_one_exercise_and_to_its_topic(
    ids: tuple[str, ...], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("masks")
    module.EXERCISES = [ModuleType("exercise") for _ in ids]  # type: ignore[attr-defined]
    for exercise, name in zip(module.EXERCISES, ids, strict=True):
        exercise.id = name
    monkeypatch.setattr(catalogues.importlib, "import_module", lambda name: module)
    with pytest.raises(ValueError, match=complaint):
        of_topic.__wrapped__("masks")


def test_a_mistake_that_does_what_an_earlier_one_does_is_left_out() -> None:
    results = {"right": 1, "two": 2, "float": 2.0, "two-again": 2, "none": None}
    mistakes = [Mistake(name, lambda r=r: r, "") for name, r in results.items()]
    left = told_apart([*mistakes, Mistake("raises", lambda: 1 // 0, "")], lambda: 1, [()])
    assert [mistake.name for mistake in left] == ["two", "float", "none", "raises"]
