"""What the paper says: every number, table cell and testable sentence, each with an id.

The sentences and Tables 1, 2 and 4 are in `paper_facts.json`; Table 3 is in `table3.py`, for
training and the ablation study use it too, and is read from there, so that no printed number is
written twice.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from annotated_transformer.evidence.table3 import TABLE_3


@dataclass(frozen=True)
class Fact:
    """One thing that the paper says.

    Attributes:
        id: its name, such as "s3_2_2.h" or "table_3.A1.bleu".
        place: where it stands in the paper.
        says: the statement, in our words.
        value: its number, where it has one.
        versions: which versions of the paper say so, where they differ.
        note: what a reader should know beside it.
    """

    id: str
    place: str
    says: str
    value: Any = None
    versions: str = ""
    note: str = ""


@cache
def read_paper() -> dict[str, Any]:
    """The contents of paper_facts.json."""
    text = (
        files("annotated_transformer.evidence.ledger")
        .joinpath("paper_facts.json")
        .read_text("utf-8")
    )
    contents: dict[str, Any] = json.loads(text)
    return contents


@cache
def load_facts() -> dict[str, Fact]:
    """Every fact by its id, in the order of the paper, the tables last."""
    facts = [Fact(**entry) for entry in read_paper()["facts"]]
    facts += [*_table_1(), *_table_2(), *_table_3(), *_table_4()]
    by_id = {fact.id: fact for fact in facts}
    if len(by_id) < len(facts):
        raise ValueError("Two facts of the paper share an id: give each its own.")
    return by_id


def _table_1() -> Iterator[Fact]:
    columns = {
        "complexity_per_layer": "complexity per layer",
        "sequential_operations": "sequential operations",
        "max_path_length": "maximum path length",
    }
    for row in read_paper()["table_1"]:
        for key, heading in columns.items():
            says = f"{row['layer']}, {heading}: {pretty_order(row[key])}."
            yield Fact(f"table_1.{row['id']}.{key}", "Table 1", says, row[key])


def pretty_order(order: str) -> str:
    """O(n²·d) from "O(n^2 * d)"."""
    return order.replace("^2", "²").replace(" * ", "·")


def _table_2() -> Iterator[Fact]:
    headings = {
        "bleu_en_de": "BLEU English-German",
        "bleu_en_fr": "BLEU English-French",
        "bleu_en_fr_nips_proceedings": "BLEU English-French",
        "flops_en_de": "training FLOPs English-German",
        "flops_en_fr": "training FLOPs English-French",
        "flops": "training FLOPs, printed once for both languages",
    }
    versions = {
        ("transformer_big", "bleu_en_fr"): "arXiv v7",
        ("transformer_big", "bleu_en_fr_nips_proceedings"): "NIPS proceedings",
    }
    for row in read_paper()["table_2"]:
        for key, heading in headings.items():
            if key in row:
                value = row[key]
                written = scientific(value) if key.startswith("flops") else f"{value}"
                says = f"{row['model']}, {heading}: {written}."
                version = versions.get((row["id"], key), "")
                yield Fact(f"table_2.{row['id']}.{key}", "Table 2", says, value, version)


def scientific(value: float) -> str:
    """3.3·10¹⁸ from 3.3e18."""
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}·10{str(int(exponent)).translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def _table_3() -> Iterator[Fact]:
    for row in TABLE_3:
        name = f"row {row.preset}"
        place = "Table 3"
        yield Fact(
            f"table_3.{row.preset}.ppl",
            place,
            f"{name}: perplexity {row.perplexity:.2f} on the development set.",
            row.perplexity,
        )
        yield Fact(
            f"table_3.{row.preset}.bleu",
            place,
            f"{name}: {row.bleu:.1f} BLEU on the development set.",
            row.bleu,
        )
        if row.printed_millions is not None:
            yield Fact(
                f"table_3.{row.preset}.params",
                place,
                f"{name}: {row.printed_millions} million parameters.",
                row.printed_millions,
            )


def _table_4() -> Iterator[Fact]:
    for row in read_paper()["table_4"]:
        says = f"{row['parser']}, {row['training']}: F1 {row['wsj23_f1']}."
        yield Fact(f"table_4.{row['id']}", "Table 4", says, row["wsj23_f1"], "arXiv only")


def table_2_value(model: str, column: str) -> float:
    """One printed cell of Table 2; raises KeyError where the paper prints none."""
    value: float = load_facts()[f"table_2.{model}.{column}"].value
    return value
