"""`make quick`: the tests of what a change touches, in two minutes.

The change is what differs from BASE, committed or not: from where the published branch was left, or
where there is none, from the commit before. A file of the package brings the tests of its room; one
of section 3's modules its own, those of the model that is made of it, and the exercises of its
topic; an exercise, or what it imports, its mistakes and right forms; a notebook is executed. What
all tests rest on, such as the versions, is left to `make test`, and quick says so.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "src/annotated_transformer/"
MODEL = ["tests/test_transformer.py", "tests/test_parity.py"]  # what is made of section 3's modules
TOPICS = {  # of the exercises that build a module of section 3
    "attention": "attention or multihead",
    "feed_forward": "encoder.feed_forward",
    "residual": "encoder.layer_norm or encoder.sublayer_connection",
    "embeddings": "encoder.embed",
    "transformer": "model",
}
BESIDE = {  # tests that do not lie in the room of what they test
    "recipes/": "tests/training/test_recipes.py",
    "results/": "tests/evidence",
    "benchmarks/": "tests/benchmark",
    f"{PACKAGE}shipped/": "tests/sharing/test_shipped.py",
}
MUTATION = "tests/exercises/test_exercises_mutation.py"
BOOK = ("tests/book",)
ALL_REST_ON = ("pyproject.toml", "requirements-lock.txt", "Makefile", "tests/conftest.py")


def git(*words: str) -> str:
    """What a command of git prints; "" where it fails."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def changed(base: str) -> list[str]:
    """The files that differ from a commit, taken away ones too, and those git does not know yet."""
    names = git("diff", "--name-only", base), git("ls-files", "--others", "--exclude-standard")
    return sorted({name for text in names for name in text.splitlines()})


def default_base() -> str:
    """Where the published branch was left, or with nothing since, the commit before; or ""."""
    for base in (
        git("merge-base", "HEAD", "origin/main"),
        git("rev-parse", "-q", "--verify", "HEAD"),
    ):
        if base and changed(base):
            return base
    return git("rev-parse", "-q", "--verify", "HEAD~1")


def exercises_of(name: str) -> str:
    """Which exercises (for -k) a file of exercises/content belongs to, or is used by."""
    parts, stem = Path(name).parts, Path(name).stem
    if stem == "__init__":
        return _topic(parts[4]) if len(parts) > 5 else "masks"
    in_topic = len(parts) > 5
    folder = (ROOT / name).parent
    if name.endswith(".md"):
        stem = stem.removesuffix(".mistakes")
        use = re.compile(rf", as {stem}\.mistakes\.md")
    else:
        use = re.compile(rf"from \S+\.{stem} import|import {stem}\b")
    files = sorted(folder.glob(f"{'' if in_topic else '*/'}*{Path(name).suffix}"))
    users = [user for user in files if use.search(user.read_text(encoding="utf-8"))]
    found = [exercises_of(str(user.relative_to(ROOT))) for user in users if user.stem != "__init__"]
    own = folder / f"{stem}.py"
    if in_topic and own.exists() and "Exercise(" in own.read_text(encoding="utf-8"):
        found.append(f"{_topic(parts[4])}.{stem}")
    return " or ".join(sorted(set(found))) or _topic(parts[4].removesuffix(".py"))


def _topic(folder: str) -> str:
    return folder.replace("multi_head", "multihead")


def calls(name: str) -> Iterator[tuple[str, ...]]:
    """What to give pytest for one file, each tuple a call: paths, or a path and a choice (-k)."""
    parts = Path(name).parts
    stem = Path(name).stem
    if name.startswith("tests/support/"):
        found = sorted((ROOT / "tests").rglob("test_*.py"))
        users = [
            path for path in found if f"from {stem} import" in path.read_text(encoding="utf-8")
        ]
        yield tuple(str(path.relative_to(ROOT)) for path in users)
    elif name.startswith("tests/"):
        if stem.startswith("test_"):
            yield (name,)
    elif beside := [test for folder, test in BESIDE.items() if name.startswith(folder)]:
        yield tuple(beside)
    elif name.startswith(f"{PACKAGE}exercises/content/"):
        yield (MUTATION, "-k", exercises_of(name))
        yield ("tests/exercises/test_exercises_catalogue.py",)
    elif name.startswith(f"{PACKAGE}exercises/"):
        yield ("tests/exercises", "--ignore", MUTATION)
        yield (MUTATION, "-k", "masks")
    elif name.startswith(PACKAGE) and len(parts) > 3:
        if (ROOT / "tests" / parts[2]).is_dir():
            yield (f"tests/{parts[2]}",)
    elif name.startswith(PACKAGE):
        own = f"tests/test_{stem}.py"
        yield (*([own] if (ROOT / own).exists() else []), *MODEL)
        yield (MUTATION, "-k", TOPICS.get(stem, stem))
    elif name.startswith(("notebooks/", "book/", "tools/", "_toc", "_config")):
        yield BOOK


def main() -> int:
    """Run them; the exit status is 1 where one fails.

    What the Makefile gives: BASE or "", the number of workers, how notebooks are executed.
    """
    base, workers, *nbval = sys.argv[1:]
    if base and not git("rev-parse", "-q", "--verify", f"{base}^{{commit}}"):
        print(f"BASE={base} is no commit here; the commit before is taken instead.")
        base = ""
    base = base or default_base()
    if not base:
        print("There is no commit before this one here to compare with: say BASE=COMMIT.")
        return 2
    names = changed(base)
    print(
        f"Changed since {git('log', '-1', '--format=%h %s', base)}: {len(names)} files", flush=True
    )
    if rest := [name for name in names if name in ALL_REST_ON]:
        print(f"All tests rest on {', '.join(rest)}: `make test` as well.", flush=True)
    found = {name: [*calls(name)] for name in names if name not in ALL_REST_ON}
    if none := [name for name, own in found.items() if not own]:
        print(f"No test of their own: {', '.join(none)}.", flush=True)
    wanted = dict.fromkeys(call for own in found.values() for call in own)
    alone = [call for call in wanted if {"-k", "--ignore"} & {*call}]
    paths = {
        path for call in wanted if call not in alone for path in call if (ROOT / path).exists()
    }
    together = [("tests/test_house.py", *sorted(paths))]
    choices = [call[2] for call in alone if call[0] == MUTATION]
    if choices:
        together.append((MUTATION, "-k", " or ".join(dict.fromkeys(choices))))
    together += [call for call in alone if call[0] != MUTATION]
    if notebooks := [n for n in names if n.startswith("notebooks/") and (ROOT / n).exists()]:
        together.append((*nbval, *notebooks))
    failed = 0
    for call in together:
        print(f"== pytest {' '.join(call)}", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-n", workers, "-m", "not slow", *call]
        status = subprocess.run(command, cwd=ROOT).returncode
        failed |= status not in (0, 5)  # 5: nothing chosen
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
