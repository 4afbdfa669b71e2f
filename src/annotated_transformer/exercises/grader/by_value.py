"""A candidate as bytes for a new Python, by value where its module cannot be imported there."""

import contextlib
import linecache
import os
import sys
import sysconfig
from types import ModuleType
from typing import Any

import cloudpickle


def dump(job: Any) -> bytes:
    """Pickle `job`; modules outside the installed libraries and this package travel by value.

    A notebook's neighbour `helpers.py`, or a module whose file is gone by now, can thus be used.
    Raises what cloudpickle raises for things that cannot travel (an open file, a lock).
    """
    modules = [module for module in list(sys.modules.values()) if _is_the_learners(module)]
    with contextlib.ExitStack() as stack:
        for module in modules:
            with contextlib.suppress(ValueError):
                cloudpickle.register_pickle_by_value(module)
                stack.callback(cloudpickle.unregister_pickle_by_value, module)
        data: bytes = cloudpickle.dumps(job)
        return data


def text_of_cells() -> dict[str, list[str]]:
    """The lines of what has no file, by the name that its code has: a notebook's cells.

    A traceback quotes the line that raised, and a new Python could not look it up.
    """
    entries = {name: entry for name, entry in linecache.cache.items() if len(entry) == 4}
    return {name: entry[2] for name, entry in entries.items() if not os.path.exists(name)}


def _is_the_learners(module: Any) -> bool:
    if not isinstance(module, ModuleType):
        return False
    name, file = module.__name__, getattr(module, "__file__", None)
    if name.partition(".")[0] in ("annotated_transformer", "__main__", "cloudpickle"):
        return False
    if not isinstance(file, str):
        return False
    installed = [sysconfig.get_path(key) for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    return "site-packages" not in file and not any(file.startswith(path) for path in installed)
