"""The model out of the reader's own solutions: whose each part is, and that the whole is right."""

import inspect
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from annotated_transformer.config import TransformerConfig
from annotated_transformer.errors import CallError
from annotated_transformer.exercises import assemble, own_parts
from annotated_transformer.exercises.catalogue import catalogue, chapter_of
from annotated_transformer.exercises.exercise import Exercise
from annotated_transformer.exercises.grader.grading import grade
from annotated_transformer.exercises.learner import own_parts as module
from annotated_transformer.exercises.learner.own_code import OwnCode, cells_of, own_code
from annotated_transformer.exercises.learner.own_parts import PARTS
from annotated_transformer.exercises.notebooks import (
    Notebook,
    code_solved,
    solved,
    workbook,
)
from annotated_transformer.transformer import Transformer
from sampling import one_in
from torch_twin import a_batch, our_model

CHAPTERS = list(dict.fromkeys(chapter_of(part) for part in PARTS))
CHECK = '\n\ncheck("attention.scaled_dot_product", scaled_dot_product_attention)'
HEAD = "def scaled_dot_product_attention(q, k, v, mask=None):\n    "
RIGHT = (
    "scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5\n"
    "    if mask is not None:\n"
    "        scores = scores.masked_fill(~mask, -1e30)\n"
    "    weights = torch.softmax(scores, -1)\n"
    "    if mask is not None:\n"
    "        weights = weights * mask\n"
    "    return weights @ v, weights\n"
)
PART = "attention.scaled_dot_product"


@pytest.fixture(autouse=True)
def own_progress_file(tmp_path_factory: pytest.TempPathFactory, monkeypatch: Any) -> Path:
    path = tmp_path_factory.mktemp("progress") / "progress.json"
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_PROGRESS", str(path))
    return path


def chapter(name: str) -> Notebook:
    """A notebook of the exercises of a chapter, as given."""
    return workbook([e for e in catalogue().values() if chapter_of(e.id) == name], name)


def save(folder: Path, name: str, notebook: Notebook) -> None:
    (folder / f"{name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")


def save_all(folder: Path, solve: Callable[[Exercise], str | None]) -> None:
    for name in CHAPTERS:
        save(folder, name, solved(chapter(name), solve))


def save_cells(folder: Path, *cells: str, name: str = "02_attention") -> None:
    """A notebook of these code cells."""
    tree = {"cells": [{"cell_type": "code", "metadata": {}, "source": cell} for cell in cells]}
    (folder / f"{name}.ipynb").write_text(json.dumps(tree), encoding="utf-8")


def assert_assembled(parts: Any, dtype: torch.dtype, atol: float) -> None:
    model = our_model(dtype).eval()
    src, tgt = a_batch()
    logits = assemble(parts, model)(src, tgt)
    assert logits.dtype == dtype
    assert not logits.requires_grad
    torch.testing.assert_close(logits, model(src, tgt).detach(), atol=atol, rtol=0)


# --- whose ----------------------------------------------------------------------------------------


def test_in_an_empty_folder_all_is_the_books(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in (tmp_path, tmp_path / "not there", "\0"):
        parts = own_parts(folder=folder)
        assert list(parts) == list(PARTS)
        assert parts.yours == []
        assert parts.whose[PART] == "the book's: no 02_attention.ipynb here"
        assert parts[PART] is catalogue()[PART].reference
        printed = capsys.readouterr().out
        assert printed == parts.table() + "\n"
        assert printed.endswith(f"yours: 0 of {len(PARTS)}, the book's: {len(PARTS)}\n")


def test_unsolved_notebooks_are_read_and_nothing_of_them_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("something was run")

    save_all(tmp_path, lambda exercise: None)
    monkeypatch.setattr(module, "grade", refuse)
    monkeypatch.setattr(OwnCode, "function", refuse)
    start = time.process_time()
    parts = own_parts(folder=tmp_path)
    assert time.process_time() - start < 2
    assert set(parts.whose.values()) == {
        f"the book's: not solved yet in {name}.ipynb" for name in CHAPTERS
    }


def test_the_books_own_notebooks_are_unsolved() -> None:
    parts = own_parts(folder=Path(__file__).resolve().parents[2] / "notebooks")
    assert parts.yours == []
    assert "not solved yet" in parts.whose[PART]


def test_solved_notebooks_give_the_readers_own_functions(
    tmp_path: Path, own_progress_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_all(tmp_path, code_solved)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    parts = own_parts(folder=tmp_path)
    assert parts.whose == {part: f"yours, from {chapter_of(part)}.ipynb" for part in PARTS}
    assert all(parts[part] is not catalogue()[part].reference for part in PARTS)
    assert_assembled(parts, torch.float32, 1e-5)
    assert_assembled(parts, torch.float64, 1e-10)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert not own_progress_file.exists()
    assert capsys.readouterr().out.count("\n") == len(PARTS) + 1


def test_each_part_is_used(tmp_path: Path) -> None:
    """Without any one of them the assembled model does not come about."""
    parts = own_parts(folder=tmp_path)
    for part in PARTS:
        with pytest.raises(KeyError):
            assert_assembled({p: f for p, f in parts.items() if p != part}, torch.float32, 1e-5)


@pytest.mark.parametrize("part", PARTS)
def test_every_right_way_to_write_a_part_gives_the_same_model(part: str, tmp_path: Path) -> None:
    parts = own_parts(folder=tmp_path)
    assert catalogue()[part].alternatives
    for alternative in catalogue()[part].alternatives:
        assert_assembled({**parts, part: alternative}, torch.float32, 1e-4)


@pytest.mark.parametrize("part", PARTS)
def test_a_wrong_part_would_be_seen_in_the_whole(part: str, tmp_path: Path) -> None:
    """The first of the named mistakes of each part changes the logits, or cannot run."""
    parts = own_parts(folder=tmp_path)
    mistake = catalogue()[part].mistakes[0]
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever a wrong part does to the rest
        assert_assembled({**parts, part: mistake.implementation}, torch.float32, 1e-4)


def test_a_wrong_solution_falls_back(tmp_path: Path) -> None:
    """Every third part wrong: it is the book's; what is not solved at all is said otherwise."""
    wrongly = list(PARTS)[::3]

    def wrong(exercise: Exercise) -> str | None:
        if exercise.id not in wrongly:
            return None
        lines = code_solved(exercise).splitlines()
        (head,) = [line for line in lines if line.startswith("def ")]
        return f"{head}\n    return torch.zeros(1)\n\n\n{lines[-1]}"

    save_all(tmp_path, wrong)
    parts = own_parts(folder=tmp_path)
    for part, whose in parts.whose.items():
        name = f"{chapter_of(part)}.ipynb"
        said = f"yours in {name} does not pass yet: The " if part in wrongly else "not solved yet"
        assert whose.startswith(f"the book's: {said}")
        assert parts[part] is catalogue()[part].reference


# --- the present notebook -------------------------------------------------------------------------


def test_functions_of_the_present_notebook(tmp_path: Path) -> None:
    def right(x: Tensor, table: Tensor) -> Tensor:
        return torch.einsum("bnd,vd->bnv", x, table)

    def wrong(x: Tensor, table: Tensor) -> Tensor:
        return x

    def stub(x: Tensor, table: Tensor) -> Any: ...

    save_all(tmp_path, code_solved)
    for function, whose in {
        right: "yours, from this notebook",
        wrong: "the book's: yours in this notebook does not pass yet: "
        "The shape is wrong: expected (1, 1, 3), got (1, 1, 2).",
        stub: "the book's: not solved yet in this notebook",
    }.items():
        parts = own_parts({"model.tied_logits": function}, folder=tmp_path)
        assert parts.whose["model.tied_logits"] == whose
        assert (parts["model.tied_logits"] is function) == (function is right)
        assert parts.whose["decoder.layer"] == "yours, from 06_decoder.ipynb"


def test_a_name_that_is_no_part_is_said() -> None:
    with pytest.raises(CallError, match=r"No part of the model: decoder\.layers"):
        own_parts({"decoder.layers": print})


# --- what a function brings with it ---------------------------------------------------------------


def taken(tmp_path: Path, *cells: str) -> str:
    """Whose the attention is, of a notebook of these cells."""
    save_cells(tmp_path, *cells)
    return own_parts(folder=tmp_path).whose[PART].split(",")[0]


def test_imports_functions_and_constants_of_other_cells_come_along(tmp_path: Path) -> None:
    cells = (
        "%pip install something\nimport torch as t\nfrom math import sqrt",
        "LOWEST = -1e30\nhidden = lambda s, m: s.masked_fill(~m, LOWEST)",
        "def soft(s, m):\n    w = t.softmax(s if m is None else hidden(s, m), -1)\n"
        "    return w if m is None else w * m",
        HEAD + "w = soft(q @ k.mT / sqrt(q.size(-1)), mask)\n    return w @ v, w" + CHECK,
    )
    assert taken(tmp_path, *cells) == "yours"
    for missing in range(3):
        rest = [cell for i, cell in enumerate(cells) if i != missing]
        save_cells(tmp_path, *rest)
        whose = own_parts(folder=tmp_path).whose[PART]
        assert "yours in 02_attention.ipynb does not pass yet: Your code raised NameError" in whose
        name = ("sqrt", "hidden", "soft")[missing]
        assert f"name '{name}' is not defined" in whose
    by_star = HEAD + RIGHT.replace("torch.softmax", "softmax") + CHECK
    assert taken(tmp_path, "from torch import *", by_star) == "yours"


def test_the_reason_is_one_short_line_that_can_be_printed(tmp_path: Path) -> None:
    raising = HEAD + "raise ValueError('\\ud800' + 'x' * 1000 + '\\nmore')" + CHECK
    save_cells(tmp_path, raising)
    parts = own_parts(folder=tmp_path)
    whose = parts.whose[PART]
    assert "does not pass yet: Your code raised ValueError" in whose
    assert whose.encode()  # no half character is left in it
    assert len(whose) < 400
    assert len(parts.table().splitlines()) == len(PARTS) + 1


def test_what_the_function_does_not_use_is_not_run(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    write = f"open({str(trace)!r}, 'w').close()"
    cells = (
        f"import torch\n{write}",
        f"trained = {write}",
        f"def unused(x={write}):\n    return x",
        HEAD + RIGHT + "\nprint(1)\n" + write + CHECK + "\n" + write,
        f"def later(x={write}):\n    return x",
    )
    assert taken(tmp_path, *cells) == "yours"
    assert not trace.exists()


def test_a_stub_with_something_else_is_still_not_solved(tmp_path: Path) -> None:
    for body in ('"""Mine."""\n    ...', "pass", "raise NotImplementedError", "return ..."):
        whose = taken(tmp_path, "import torch", "LOWEST = 1\n\n\n" + HEAD + body + CHECK)
        assert whose == "the book's: not solved yet in 02_attention.ipynb"


def test_what_a_cell_prints_at_its_making_is_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = HEAD.replace("mask=None", "mask=print('noise')")  # print returns None
    assert taken(tmp_path, "import torch", head + RIGHT + CHECK) == "yours"
    assert "noise" not in capsys.readouterr().out


def test_the_last_cell_of_an_exercise_counts(tmp_path: Path) -> None:
    right, wrong = HEAD + RIGHT + CHECK, HEAD + "return q, k" + CHECK
    assert taken(tmp_path, "import torch", wrong, right) == "yours"
    assert "does not pass yet" in taken(tmp_path, "import torch", right, wrong)


def test_a_function_of_another_name_or_a_lambda(tmp_path: Path) -> None:
    renamed = (HEAD + RIGHT + CHECK).replace("scaled_dot_product_attention", "mine")
    assert taken(tmp_path, "import torch", renamed) == "yours"
    by_torch = (
        "mine = lambda q, k, v, mask=None: (lambda w: (w @ v, w))(weigh(q @ k.mT, q, mask))\n"
        "def weigh(s, q, m):\n    s = s / q.size(-1) ** 0.5\n"
        "    return s.softmax(-1) if m is None else s.masked_fill(~m, -1e30).softmax(-1) * m\n"
    )
    assert taken(tmp_path, by_torch + f'\n\ncheck("{PART}", mine)') == "yours"


def test_a_copy_of_the_chapter_under_another_name(tmp_path: Path) -> None:
    cells = ("import torch", HEAD + RIGHT + CHECK)
    save_cells(tmp_path, *cells, name="Copy of 02_attention")
    assert own_parts(folder=tmp_path).whose[PART] == "yours, from Copy of 02_attention.ipynb"
    save_cells(tmp_path, "", name="02_attention")  # its own name comes first
    assert "not solved yet" in own_parts(folder=tmp_path).whose[PART]


@pytest.mark.parametrize("newest", ["Copy of 02_attention", "02_attention-Copy1"])
def test_of_several_copies_the_one_saved_last_counts(newest: str, tmp_path: Path) -> None:
    names = ["02_attention-Copy1", "Copy of 02_attention"]
    for name in names:  # only the newest is right
        body = RIGHT if name == newest else "return q, k"
        save_cells(tmp_path, "import torch", HEAD + body + CHECK, name=name)
        saved = 2_000_000_000 if name == newest else 1_000_000_000
        os.utime(tmp_path / f"{name}.ipynb", (saved, saved))
    assert own_parts(folder=tmp_path).whose[PART] == f"yours, from {newest}.ipynb"


def test_tracebacks_and_the_source_of_own_functions(tmp_path: Path) -> None:
    save_cells(tmp_path, "import torch", HEAD + RIGHT + CHECK)
    function = own_parts(folder=tmp_path)[PART]
    assert "def scaled_dot_product_attention" in inspect.getsource(function)
    assert function.__code__.co_filename == f"<02_attention.ipynb, exercise {PART}>"


@pytest.mark.slow
def test_own_code_travels_to_a_new_python(tmp_path: Path) -> None:
    """As on systems without fork."""
    save_cells(tmp_path, "import torch", HEAD + RIGHT + CHECK)
    code = own_code(catalogue()[PART], cells_of(tmp_path / "02_attention.ipynb"), "a notebook")
    assert code is not None
    code.function()
    assert grade(PART, code, method="spawn").passed


# --- whatever a notebook holds --------------------------------------------------------------------

HOSTILE = {
    "an endless loop": HEAD + "while True: pass",
    "an endless loop at its making": "def forever():\n    while True: pass\n\n\n"
    + HEAD.replace("mask=None", "mask=forever()")
    + RIGHT,
    "ends the process": "import os\n" + HEAD + "os._exit(0)",
    "ends the process at its making": "import os\n"
    + HEAD.replace("mask=None", "mask=os._exit(0)")
    + RIGHT,
    "SystemExit at its making": HEAD.replace("mask=None", "mask=exit()") + RIGHT,
    "KeyboardInterrupt": HEAD + "raise KeyboardInterrupt",
    "endless recursion": HEAD + "return scaled_dot_product_attention(q, k, v, mask)",
    "endless output": HEAD + "while True: print('x' * 1000)",
    "is no function": "scaled_dot_product_attention = 5",
    "is not there": "pass",
    "is deleted": HEAD + RIGHT + "\ndel scaled_dot_product_attention\nq = 1",
    "passes only while it is checked": "import os, torch\n"
    "if 'annotated-transformer-' not in os.getcwd():\n    raise SystemExit\n"
    "else:\n    torch_ = torch\n\n\n" + HEAD + RIGHT.replace("torch.", "torch_."),
}


@pytest.mark.parametrize("name", one_in(3, HOSTILE))
def test_a_hostile_cell_falls_back(name: str, tmp_path: Path) -> None:
    code = HOSTILE[name]
    save_cells(tmp_path, "import torch", code + CHECK)
    parts = own_parts(folder=tmp_path)
    expected = "yours, from" if code is HOSTILE["is deleted"] else "the book's: yours in"
    assert parts.whose[PART].startswith(expected)  # a `del` binds no name, so it is left out
    assert_assembled(parts, torch.float32, 1e-5)


@pytest.mark.parametrize(
    "code",
    ["def f(:", "a\0b", "(" * 100_000, "x=1" + "+1" * 100_000, "x=y" + ".a" * 3000, "\ud800"],
    ids=["syntax", "a zero byte", "parentheses", "a long sum", "a long chain", "half a character"],
)
def test_a_cell_that_is_no_python_falls_back(code: str, tmp_path: Path) -> None:
    save_cells(tmp_path, "import torch", HEAD + RIGHT + code + CHECK)
    assert own_parts(folder=tmp_path).whose[PART].startswith("the book's: ")
    save_cells(tmp_path, code, "import torch", HEAD + RIGHT + CHECK)  # another cell: no matter
    assert own_parts(folder=tmp_path).whose[PART] == "yours, from 02_attention.ipynb"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b"{}",
        b'{"cells": 3}',
        b'{"cells": [1]}',
        b'{"cells": [{"cell_type": "code"}]}',
        b'{"cells": [{"cell_type": "code", "source": 3}]}',
        b'{"cells": [{"cell_type": "code", "source": [3]}]}',
        b"[" * 200_000,
    ],
)
def test_a_file_that_is_no_notebook_falls_back(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "02_attention.ipynb").write_bytes(content)
    whose = own_parts(folder=tmp_path).whose[PART]
    assert whose == "the book's: 02_attention.ipynb cannot be read as a notebook"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on this system")
def test_a_thing_that_is_no_file_falls_back(tmp_path: Path) -> None:
    (tmp_path / "02_attention.ipynb").mkdir()
    os.mkfifo(tmp_path / "03_multi_head.ipynb")  # opening it would wait for ever
    (tmp_path / "05_encoder.ipynb").symlink_to(tmp_path / "05_encoder.ipynb")
    parts = own_parts(folder=tmp_path)
    assert parts.yours == []
    for part in (PART, "multihead.attention"):
        assert parts.whose[part].endswith("cannot be read as a notebook")


# --- the whole ------------------------------------------------------------------------------------


def test_sizes_and_a_model_in_training(tmp_path: Path) -> None:
    """Dropout is the model's, not the parts'."""
    parts = own_parts(folder=tmp_path)
    model = Transformer(TransformerConfig(17, 16, 8, 2, 1, dropout=0.5))
    src, tgt = torch.tensor([[3, 4, 5, 0]]), torch.tensor([[1, 6]])
    logits = assemble(parts, model.train())(src, tgt)
    torch.testing.assert_close(logits, model.eval()(src, tgt).detach(), atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    "change",
    [
        {"norm": "pre"},
        {"positions": "none"},
        {"tie_embeddings": False},
        {"attention_bias": True},
        {"attention": "dot-product"},
        {"residual": False},
        {"embedding_scale": False},
        {"decoder_layers": 1},
        {"d_k": 5},
    ],
    ids=str,
)
def test_another_model_than_the_papers_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(CallError, match="The exercises build the paper's model"):
        assemble(own_parts(folder=tmp_path), our_model(torch.float32, **change))
