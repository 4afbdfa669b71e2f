"""`make quick`: the tests of what a change touches, in two minutes.

The change is what differs from BASE, committed or not: from the published branch where there is
one, else from the commit before. A file of the package brings the tests of its room; one of section
3's modules its own, those of the model that is made of it, and the exercises of its topic; an
exercise its mistakes and right forms; a notebook is executed strictly.
"""

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
MUTATION = "tests/exercises/test_exercises_mutation.py"
NBVAL = ["--nbval", "--nbval-current-env", "--nbval-cell-timeout=1200"]
NBVAL += ["--nbval-kernel-startup-timeout=300", "--dist", "loadscope"]  # a notebook stays together


def changed(base: str) -> list[str]:
    """The files that differ from a commit, and those that git does not know yet."""

    def git(*words: str) -> list[str]:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout.split()

    names = {*git("diff", "--name-only", base), *git("ls-files", "--others", "--exclude-standard")}
    return sorted(name for name in names if (ROOT / name).exists())


def known(base: str) -> bool:
    """Whether there is such a commit."""
    command = ["git", "rev-parse", "--verify", "-q", f"{base}^{{commit}}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True).returncode == 0


def default_base() -> str:
    """The published branch, or where there is none, or nothing beyond it, the commit before."""
    for base in ("origin/main", "HEAD"):
        if known(base) and changed(base):
            return base
    return "HEAD~1"


def calls(name: str) -> Iterator[tuple[str, ...]]:
    """What to give pytest for one file, each tuple a call: paths, or a path and a choice (-k)."""
    parts = Path(name).parts
    stem = Path(name).stem
    if name.startswith("tests/"):
        if stem.startswith("test_"):
            yield (name,)
    elif name.startswith("notebooks/") and name.endswith(".ipynb"):
        yield (*NBVAL, name)
        yield ("tests/book/test_notebooks.py", "-k", stem)
    elif name.startswith(f"{PACKAGE}exercises/content/") and len(parts) > 5:
        topic = parts[4].replace("multi_head", "multihead")
        exercise = f"{topic}.{stem}" if not stem.startswith("_") else topic
        yield (MUTATION, "-k", exercise)
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
    elif name.startswith(("book/", "tools/", "_toc", "_config")):
        yield ("tests/book/test_pages.py", "tests/book/test_extensions.py")


def main() -> int:
    """Run them; the exit status is 1 where one fails."""
    base = sys.argv[1] if len(sys.argv) > 1 and sys.argv[1] else default_base()
    if not known(base):
        print(f"BASE={base} is no commit here; compared with {(base := default_base())} instead.")
    workers = sys.argv[2] if len(sys.argv) > 2 else "2"
    names = changed(base)
    print(f"Changed since {base}: {len(names)} files", flush=True)
    wanted = dict.fromkeys(call for name in names for call in calls(name))
    paths = {path for call in wanted if "-k" not in call and len(call) < 3 for path in call}
    together = [("tests/test_house.py", *sorted(paths))]
    alone = [call for call in wanted if "-k" in call or len(call) >= 3]
    choices = [call[2] for call in alone if call[0] == MUTATION]
    if choices:
        together.append((MUTATION, "-k", " or ".join(dict.fromkeys(choices))))
    failed = 0
    for call in [*together, *(call for call in alone if call[0] != MUTATION)]:
        print(f"== pytest {' '.join(call)}", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-n", workers, "-m", "not slow", *call]
        status = subprocess.run(command, cwd=ROOT).returncode
        failed |= status not in (0, 5)  # 5: nothing chosen
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
