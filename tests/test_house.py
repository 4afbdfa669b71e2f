"""The house itself: what is written in two places agrees, and what must stay out stays out."""

import ast
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from plotly.offline import get_plotlyjs_version

import address
import build_book
import front_end
import lock
from annotated_transformer import __version__
from annotated_transformer.cli import build_parser
from annotated_transformer.figures.style import PALETTE
from annotated_transformer.shipped import PARSER

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "annotated_transformer"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK_LINES = [
    line
    for line in (ROOT / "requirements-lock.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
SECTION_3 = {  # of the paper: Figure 1, part by part
    "masks",
    "attention",
    "positional",
    "feed_forward",
    "residual",
    "embeddings",
    "encoder",
    "decoder",
    "transformer",
    "variants",
}
BESIDE_IT = {"__init__", "config", "errors", "inspection"}
ROOMS = {
    "after",
    "benchmark",
    "experiments",
    "cli",
    "data",
    "decoding",
    "evaluation",
    "evidence",
    "exercises",
    "fast",
    "figures",
    "interview",
    "museum",
    "sharing",
    "shipped",
    "standin",
    "training",
}
# What speed is made of has its room; none of it is named in the paper's modules.
WORDS_OF_SPEED = re.compile(
    r"packed|packing|shared.row|byte.dropout|bfloat16|bf16|autocast|compile|cuda|cudnn|sdp_|kernel",
    re.IGNORECASE,
)
PUBLISHED = "https://reader.github.io/annotated-book/"


def tracked_files() -> list[Path]:
    """What git holds, or would hold (a fresh file counts before it is added)."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode:
        pytest.skip("this copy of the repository is not a git checkout")
    found = [ROOT / name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]
    assert Path(__file__).resolve() in found
    return found


def requirements() -> list[Requirement]:
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    return [Requirement(text) for group in groups for text in group]


# --- metadata, lock, environment ------------------------------------------------------------------


def test_lock_holds_every_dependency_within_its_range() -> None:
    locked = {canonicalize_name(Requirement(line).name): Requirement(line) for line in LOCK_LINES}
    for wanted in requirements():
        pinned = locked.get(canonicalize_name(wanted.name))
        assert pinned is not None, f"{wanted.name} is not in the lock: run `make lock`"
        version = next(iter(pinned.specifier)).version
        assert wanted.specifier.contains(version), f"{wanted} against {pinned}: run `make lock`"


def test_lock_is_exact_and_names_no_machine() -> None:
    for line in LOCK_LINES:
        assert re.fullmatch(r"[\w.-]+==[\w.+!-]+( ; .+)?", line), line
        assert not line.startswith(("nvidia-", "cuda-", "triton")), line
    assert len([line for line in LOCK_LINES if re.fullmatch(r"torch==\d+\.\d+\.\d+", line)]) == 1


def test_torch_stays_where_the_lock_has_it() -> None:
    text = "torchmetrics==1.0.0\ntorch==2.14.1 ; python_version > '3.11'\ntorchvision==0.3\n"
    assert lock.locked_torch(text) == "2.14.1"
    assert f"torch=={lock.locked_torch(lock.LOCK.read_text())}" in LOCK_LINES
    with pytest.raises(SystemExit, match="holds no torch to keep: say which"):
        lock.locked_torch("numpy==2.4.6\n")


def test_metadata_leaves_torch_alone() -> None:
    """An exact pin would replace the torch that Colab brings."""
    torch = next(r for r in requirements() if r.name == "torch")
    assert {s.operator for s in torch.specifier} == {">="}


def test_environment_file_follows_the_metadata() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    conda = [item for item in environment["dependencies"] if isinstance(item, str)]
    (pip,) = [item["pip"] for item in environment["dependencies"] if isinstance(item, dict)]
    assert environment["name"] == PROJECT["name"]
    assert f"python{PROJECT['requires-python']}" in conda
    assert pip == ["-r requirements-lock.txt", "--editable ."]


def test_npm_lock_holds_what_package_json_asks_for() -> None:
    package = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    for name, version in {**package["dependencies"], **package["devDependencies"]}.items():
        assert lock[f"node_modules/{name}"]["version"] == version


def test_pages_and_notebooks_draw_with_one_plotly() -> None:
    package = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    assert package["dependencies"]["plotly.js-cartesian-dist-min"] == get_plotlyjs_version()


def test_citation_carries_the_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PROJECT["version"]


# --- what must stay out ---------------------------------------------------------------------------


def imported_modules(path: Path) -> set[str]:
    """The absolute names of all that a file of the package imports."""
    package = ".".join(path.relative_to(SOURCE.parent).parts[:-1])
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] + "." if node.level else ""
            module = f"{base}{node.module or ''}".rstrip(".")
            names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return names


def test_the_root_holds_section_3_and_little_else() -> None:
    assert {path.stem for path in SOURCE.glob("*.py")} == SECTION_3 | BESIDE_IT
    assert {path.parent.name for path in SOURCE.glob("*/__init__.py")} == ROOMS


def rooms_imported(room: str) -> set[str]:
    """The other rooms that the modules of one import, lazily or not."""
    names = {name for path in (SOURCE / room).rglob("*.py") for name in imported_modules(path)}
    inside = {name.split(".")[1] for name in names if name.startswith("annotated_transformer.")}
    return inside & (ROOMS - {room})


def test_no_two_rooms_import_each_other() -> None:
    imported = {room: rooms_imported(room) for room in ROOMS}
    knots = {(a, b) for a in ROOMS for b in imported[a] if a < b and a in imported[b]}
    assert not knots


def test_nothing_imports_what_only_chapters_use() -> None:
    assert "experiments" in ROOMS
    assert not [room for room in ROOMS if "experiments" in rooms_imported(room)]


def test_private_modules_of_torch_are_imported_in_one_file() -> None:
    """A release may rename them: then one file is to be mended, and most chapters still run."""
    private = re.compile(r"\b(?:from|import) torch(?:\.\w+)*\._")
    files = [path for path in tracked_files() if path.suffix in {".py", ".ipynb"}]
    found = [path for path in files if private.search(path.read_text(encoding="utf-8"))]
    assert found == [SOURCE / "benchmark" / "dispatch.py"]


def test_private_names_of_torch_are_used_where_speed_is_made_or_measured_and_once_beside() -> None:
    private = re.compile(r"\btorch(?:\.\w+)*\._[A-Za-z]")
    files = [
        path
        for path in tracked_files()
        if path.suffix == ".ipynb" or (path.suffix == ".py" and SOURCE in path.parents)
    ]
    found = [path for path in files if private.search(path.read_text(encoding="utf-8"))]
    allowed = {SOURCE / "fast", SOURCE / "benchmark"}
    beside = [path for path in found if not allowed & {*path.parents}]
    assert beside == [SOURCE / "exercises" / "grader" / "values.py"]


@pytest.mark.parametrize("name", sorted(SECTION_3 | {"config", "inspection"}))
def test_code_of_the_paper_imports_torch_and_itself(name: str) -> None:
    names = imported_modules(SOURCE / f"{name}.py")
    inside = {name.split(".")[1] for name in names if name.startswith("annotated_transformer.")}
    assert inside <= SECTION_3 | {"config"}
    outside = {name.split(".")[0] for name in names} - sys.stdlib_module_names
    assert outside <= {"torch", "annotated_transformer"}


@pytest.mark.parametrize("name", sorted(SECTION_3))
def test_code_of_the_paper_knows_nothing_of_speed(name: str) -> None:
    text = (SOURCE / f"{name}.py").read_text(encoding="utf-8")
    assert not WORDS_OF_SPEED.findall(text)


def test_no_tracked_file_names_a_machine() -> None:
    machine = re.compile(rb"(?<![\w.:/-])/(?:home|root|Users|work|tmp|opt)/[\w.-]+")
    for path in tracked_files():
        if ROOT / "tests" not in path.parents:  # tests make up paths to try things with
            found = machine.findall(path.read_bytes())
            assert not found, f"{path.relative_to(ROOT)} names {found[0]!r}"


def test_two_tracked_files_are_large() -> None:
    """NumPy for the pages' Python, which no registry has, and the parser that the package ships."""
    large = {path for path in tracked_files() if path.stat().st_size > 2_000_000}
    assert large == {front_end.numpy_wheel(), PARSER / "model.safetensors"}


def test_the_pages_say_whose_their_libraries_are() -> None:
    package = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    told = front_end.licences()
    for name, version in package["dependencies"].items():
        assert f"\n{name} {version}, " in told
    assert "Permission is hereby granted" in told.partition("@codemirror/view")[2]
    assert "licences.txt" in (ROOT / "book" / "cite.md").read_text(encoding="utf-8")


def test_no_front_end_library_is_in_git() -> None:
    names = [path.relative_to(ROOT).as_posix() for path in tracked_files()]
    assert [n for n in names if n.endswith(".min.js") or n.startswith("node_modules")] == []


# --- README --------------------------------------------------------------------------------------


def readme_commands() -> list[list[str]]:
    """The calls of the command line that README.md shows, without their explanations."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^ {4}annotated-transformer (.+)$", readme, flags=re.MULTILINE)
    return [shlex.split(re.split(r" {3,}", line)[0]) for line in lines]


@pytest.mark.parametrize("call", readme_commands(), ids=lambda call: " ".join(call[:2]))
def test_commands_of_the_readme_exist(call: list[str]) -> None:
    build_parser().parse_args(call)  # exits with 2 where the call is wrong


def test_targets_of_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for page in ("README.md", "CONTRIBUTING.md", "book/how_to_use.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        targets = re.findall(r"(?:`|^ {4}|^)make ([a-z][a-z-]+)", text, flags=re.MULTILINE)
        assert targets, f"{page} names no target"
        for target in targets:
            assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), f"{page}: {target}"


# --- one palette ----------------------------------------------------------------------------------


@pytest.mark.parametrize("role", PALETTE)
def test_pages_and_figures_share_their_colours(role: str) -> None:
    css = (ROOT / "book" / "_static" / "book.css").read_text(encoding="utf-8")
    for colour, theme in zip(PALETTE[role], ("light", "dark"), strict=True):
        assert f"--role-{role}-{theme}: {colour};" in css


# --- one address ----------------------------------------------------------------------------------


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The parts of the repository that carry or follow the address."""
    for name in ("_config.yml", "_toc.yml", "CITATION.cff", "README.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("book", "notebooks", "tools"):
        ignore = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignore)
    return tmp_path


def test_everything_generated_from_the_address_is_in_step() -> None:
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    for path, text in address.generated(ROOT, address.read_address(config)).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `make address`"


def test_setting_the_address_reaches_every_part_and_taking_it_out_leaves_none(copy: Path) -> None:
    address.write_address(copy, "")
    address.apply(copy)
    parts = [copy / "_config.yml", copy / "CITATION.cff", copy / "README.md"]
    parts += sorted((copy / "notebooks").glob("*.ipynb"))
    before = [path.read_text(encoding="utf-8") for path in parts]
    assert not any("reader" in text and "annotated-book" in text for text in before)

    address.write_address(copy, PUBLISHED)
    found = address.apply(copy)
    assert found == address.Address(PUBLISHED, "https://github.com/reader/annotated-book")
    for path in parts:
        assert "annotated-book" in path.read_text(encoding="utf-8"), path.name
    ruff = [sys.executable, "-m", "ruff", "format", "--check", "--isolated", "--line-length", "80"]
    style = subprocess.run([*ruff, str(copy / "notebooks")], capture_output=True, text=True)
    assert style.returncode == 0, style.stdout  # a published book still passes `make check`

    address.write_address(copy, "")
    address.apply(copy)
    assert [path.read_text(encoding="utf-8") for path in parts] == before


@pytest.mark.parametrize(
    ("url", "repository", "complaint"),
    [
        ("http://reader.github.io/book/", "", "begins with https"),
        ("https://book.example.org/", "", "REPOSITORY="),
        ("https://book.example.org/", "https://example.org/x", "REPOSITORY="),
    ],
)
def test_a_wrong_address_is_refused(url: str, repository: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        address.parse_address(url, repository)


def test_a_repository_gives_the_pages_address_and_another_domain_keeps_its_own() -> None:
    of_repository = address.parse_address("https://github.com/Reader/Book.git")
    assert of_repository == address.Address(
        "https://reader.github.io/Book/", "https://github.com/Reader/Book"
    )
    elsewhere = address.parse_address("https://book.example.org", "https://github.com/reader/book/")
    assert elsewhere == address.Address(
        "https://book.example.org/", "https://github.com/reader/book"
    )


def test_buttons_only_in_a_published_book(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_book, "ROOT", copy)
    monkeypatch.setattr(build_book, "BUILD", copy)

    def settings(url: str) -> dict[str, dict[str, object]]:
        address.write_address(copy, url)
        path = build_book.effective_config()
        config: dict[str, dict[str, object]] = yaml.safe_load(path.read_text(encoding="utf-8"))
        return config

    unpublished, published = settings(""), settings(PUBLISHED)
    assert "launch_buttons" not in unpublished
    assert not unpublished["html"]["use_repository_button"]
    assert published["launch_buttons"]["colab_url"] == "https://colab.research.google.com"
    assert published["repository"]["url"] == "https://github.com/reader/annotated-book"


def test_the_reading_map_names_modules_that_exist() -> None:
    text = (ROOT / "book" / "reading_map.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z0-9_/]+(?:\.py|/))`", text))
    named.discard("src/annotated_transformer/")
    missing = {name for name in named if not (SOURCE / name).exists()}
    assert len(named) > 12
    assert not missing


@pytest.mark.parametrize("package", ["grader", "instructor"])
def test_a_package_with_a_map_names_every_module_and_no_other(package: str) -> None:
    folder = SOURCE / "exercises" / package
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    named = re.findall(r"^    (\w+)  +\S", text or "", flags=re.MULTILINE)
    assert sorted(named) == sorted({path.stem for path in folder.glob("*.py")} - {"__init__"})


def test_the_version_is_the_same_in_both_places() -> None:
    assert __version__ == PROJECT["version"]


@pytest.mark.parametrize(
    ("name", "place", "complaint"),
    [
        ("README.md", address.README_END, "README.md: the marks"),
        ("notebooks/02_attention.ipynb", f'"{address.SETUP_TAG}"', "02_attention.ipynb: no cell"),
    ],
)
def test_a_file_without_a_place_for_the_address_is_named(
    copy: Path, name: str, place: str, complaint: str
) -> None:
    text = (copy / name).read_text(encoding="utf-8")
    assert place in text
    (copy / name).write_text(text.replace(place, '"other"'), encoding="utf-8")
    with pytest.raises(ValueError, match=complaint):
        address.apply(copy)


def test_a_configuration_without_a_line_for_the_address_is_refused(copy: Path) -> None:
    path = copy / "_config.yml"
    path.write_text(path.read_text(encoding="utf-8").replace("  baseurl: ", "  base: "), "utf-8")
    with pytest.raises(ValueError, match='holds 0 lines that begin with "  baseurl: "'):
        address.write_address(copy, PUBLISHED)
