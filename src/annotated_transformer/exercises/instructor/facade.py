"""Stand-ins for what a notebook imports and grading neither needs nor wants to be there.

The package itself (it holds what the exercises ask for) and the libraries that draw are replaced by
modules whose names can be imported and not used: a cell that sets things up runs on, a cell that
shows something stops there, and the next one is run.
"""

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PACKAGE = "annotated_transformer"
EXERCISES = f"{PACKAGE}.exercises"
DRAWING = ("matplotlib", "mpl_toolkits", "plotly", "ipywidgets", "IPython")


class NotHereError(Exception):
    """Something was used that is not there while a notebook is graded."""


class Absent:
    """A name that was imported from a module that is not there. Using it raises NotHereError."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def _refuse(self, *_args: Any, **_kwargs: Any) -> Any:
        raise NotHereError(f"`{self._name}` is not available while a notebook is graded")

    __call__ = __setattr__ = __getitem__ = __setitem__ = __iter__ = __len__ = _refuse
    __enter__ = __exit__ = __mro_entries__ = __bool__ = __float__ = __int__ = __index__ = _refuse
    __add__ = __radd__ = __sub__ = __mul__ = __matmul__ = __truediv__ = __lt__ = __gt__ = _refuse

    def __getattr__(self, name: str) -> "Absent":
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self._name}.{name}")


class _AbsentModule(ModuleType):
    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")


class _Finder(MetaPathFinder, Loader):
    """Answers for all modules of the packages that are not there."""

    def __init__(self, check: Callable[..., None]) -> None:
        self.check = check

    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] in (PACKAGE, *DRAWING):
            return ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _AbsentModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == EXERCISES:
            quiet = dict.fromkeys(
                ("hint", "solution", "progress", "save_progress", "load_progress"), _nothing
            )
            vars(module).update(check=self.check, **quiet)
        if module.__name__ == "IPython.display":
            vars(module).update(display=_nothing)


class _Shell:
    """What `get_ipython()` gives: magics and shell commands do nothing, timed cells run."""

    def __init__(self, run: Callable[[str], None]) -> None:
        self.run = run

    def run_line_magic(self, *args: Any, **kwargs: Any) -> None:
        """`%matplotlib inline` and its like."""

    def run_cell_magic(self, name: str, _line: str, cell: str) -> None:
        """The cell under `%%time` or `%%capture` is run, any other is not."""
        if name in ("time", "capture"):
            self.run(cell)

    def system(self, *args: Any) -> None:
        """`!pip install ...`"""

    getoutput = system


def install(check: Callable[..., None], run: Callable[[str], None]) -> dict[str, Any]:
    """Put the stand-ins in the place of the modules; returns names that a notebook takes for given.

    check: what `check(exercise_id, candidate)` is to do. run: runs the source of a cell.
    """
    for name in list(sys.modules):
        if name.partition(".")[0] in (PACKAGE, *DRAWING):
            del sys.modules[name]
    sys.meta_path.insert(0, _Finder(check))
    shell = _Shell(run)
    return {"display": _nothing, "get_ipython": lambda: shell}


def _nothing(*args: Any, **kwargs: Any) -> None:
    """Shows nothing, records nothing."""
