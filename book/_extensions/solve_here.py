"""The exercises in the page: what Python needs there, beside the built site.

Pyodide and NumPy lie there already (tools/front_end.py). Here the grader, the exercises and the
stand-in for torch are added, and a list of all parts with their sizes, which the page reads first.
"""

import ast
import base64
import io
import json
import re
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))
from front_end import write_part  # noqa: E402 - Sphinx knows no folder but this one

PACKAGE = ROOT / "src" / "annotated_transformer"
EXERCISES = PACKAGE / "exercises"
STANDIN = PACKAGE / "standin"
BUNDLE = "exercises.zip"
# In the order in which the page loads them: what has to be compiled comes first.
PARTS = (
    "pyodide.asm.wasm",
    "pyodide.asm.js",
    "pyodide.js",
    "pyodide-lock.json",
    "python_stdlib.zip",
)
SIZES = "sizes.js"


def files_needed() -> dict[str, Path]:
    """What an answer is checked with, by its place in the page's own folder of modules."""
    content = [
        path for path in (EXERCISES / "content").rglob("*.*") if path.suffix in (".py", ".md")
    ]
    needed = {EXERCISES / "in_page.py", *content}
    waiting = [*needed]
    while waiting:
        new = {*_imported(waiting.pop())} - needed
        needed |= new
        waiting += new
    found = {path.relative_to(PACKAGE.parent).as_posix(): path for path in needed}
    torch = (STANDIN / "torch").rglob("*.py")
    return found | {path.relative_to(STANDIN).as_posix(): path for path in torch}


def _imported(path: Path) -> Iterator[Path]:
    """The modules of this package that a file imports, and the packages that they are in.

    A page of mistakes has its imports in its code, which is indented.
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        text = "\n".join(
            line.strip() for line in re.findall(r"^    from \S+ import .+$", text, re.M)
        )
    for node in _statements(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            for name in names:
                yield from _files_of(name)


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but what only a type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from _statements(node)


def _files_of(module: str) -> Iterator[Path]:
    first, *rest = module.split(".")
    if first != PACKAGE.name:
        return
    for number in range(len(rest) + 1):
        path = PACKAGE.joinpath(*rest[:number])
        for file in (path / "__init__.py", path.with_suffix(".py")):
            if file.is_file():
                yield file


def bundle() -> bytes:
    """All of it as one archive, the same at every making."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, path in sorted(files_needed().items()):
            archive.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target.getvalue()


def sizes_script(folder: Path) -> str:
    """The parts that lie in a folder with their bytes; none of them where one is missing."""
    wheels = sorted(path.name.removesuffix(".js") for path in folder.glob("*.whl.js"))
    names = [*PARTS, *wheels, BUNDLE]
    sizes = {name: _bytes_of(folder / f"{name}.js") for name in names}
    told = sizes if wheels and all(sizes.values()) else {}
    return f"globalThis.PYTHON_SIZES={json.dumps(told)};\n"


def _bytes_of(script: Path) -> int:
    found = re.search(r'="(.*)";', script.read_text(encoding="utf-8")) if script.is_file() else None
    return len(base64.b64decode(found[1])) if found else 0


def write_all(app: Sphinx, exception: Exception | None) -> None:
    """Put the grader and the list of sizes beside Python."""
    if exception is None and app.builder.name == "html":
        folder = Path(app.outdir) / "_static" / "python"
        write_part(folder, BUNDLE, bundle())
        (folder / SIZES).write_text(sizes_script(folder), encoding="utf-8")


def cell(code: str, *beneath: nodes.Node, classes: Sequence[str] = ()) -> nodes.container:
    """A cell of an exercise as a chapter has it, for other pages: page.js makes it one to solve."""
    listing = nodes.literal_block(code, code, language="python")
    given = nodes.container("", listing, classes=["cell_input"])
    answer = [nodes.container("", *beneath, classes=["cell_output"])] if beneath else []
    return nodes.container("", given, *answer, classes=["cell", "tag_exercise", *classes])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
