"""Notebooks of a few cells, as a learner hands them in."""

from typing import Any

IMPORTS = "import torch\nfrom annotated_transformer.exercises import check"


def of_cells(*sources: str) -> dict[str, Any]:
    """A notebook of code cells."""
    cells = [{"cell_type": "code", "metadata": {}, "source": source} for source in sources]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
