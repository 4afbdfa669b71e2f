"""Processes that begin with the package already loaded, and may die at any moment.

A new interpreter takes seconds to load PyTorch. Here a server loads it once and is forked for each
process, which then begins within hundredths of a second.
"""

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any

LOADED_ONCE = [
    "annotated_transformer.cli.__main__",
    *(
        "annotated_transformer.cli." + name
        for name in ("data", "doctor_run", "evaluate_run", "train_run")
    ),
    "torch._dynamo",  # every optimizer imports it
    "toy_run",
]
PATIENCE = 900  # seconds for a process that may have to import PyTorch on a busy machine
FORKED = multiprocessing.get_context("forkserver" if hasattr(os, "fork") else "spawn")
FORKED.set_forkserver_preload(LOADED_ONCE)


def start(target: Callable[..., Any], *arguments: Any) -> BaseProcess:
    """A process that calls `target(*arguments)`, which must be the function of a module."""
    process = FORKED.Process(target=target, args=arguments)
    process.start()
    return process
