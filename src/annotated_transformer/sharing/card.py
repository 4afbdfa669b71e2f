"""README.md of a shared model: what it is, how it came to be, what it scores, how to use it.

Everything on the card comes from the run's own files; what they do not say, the card says is not
known.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from huggingface_hub import EvalResult, ModelCardData

from annotated_transformer.config import TransformerConfig
from annotated_transformer.evaluation.scoring import BLEU_PROTOCOLS, PROTOCOL_NAMES, other_limit
from annotated_transformer.training import RunConfig
from annotated_transformer.training.departures import training_departures
from annotated_transformer.training.made_from import MadeFrom

LIBRARY = "annotated-transformer"
PAPER = "https://arxiv.org/abs/1706.03762"
TASK = "translation"

LIBRARIES = {  # what each form of folder is for, by the hub's name
    "folder": LIBRARY,
    "huggingface": "transformers",
    "ctranslate2": "ctranslate2",
    "ctranslate2-int8": "ctranslate2",
    "onnx": "onnx",
}
USES = {
    "folder": """\
```python
from annotated_transformer.sharing import Translator

translator = Translator.from_pretrained("this folder, or its name on the hub")
translator.translate(["{example}"])
```

or, from a terminal, `annotated-transformer translate --run-dir FOLDER`.
""",
    "huggingface": """\
```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

folder = "this folder, or its name on the hub"
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForSeq2SeqLM.from_pretrained(folder)
given = tokenizer(["{example}"], return_tensors="pt", padding=True)
found = model.generate(**given)
tokenizer.batch_decode(found, skip_special_tokens=True)
```
""",
    "ctranslate2": """\
```python
import ctranslate2
from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file("FOLDER/tokenizer.json")
translator = ctranslate2.Translator("FOLDER")
pieces = tokenizer.encode("{example}").tokens
[found] = translator.translate_batch([pieces], beam_size=4, length_penalty=0.6)
tokenizer.decode([tokenizer.token_to_id(piece) for piece in found.hypotheses[0]])
```
""",
    "onnx": """\
In this folder, with `pip install onnxruntime tokenizers`:

```python
from translate import Translator

Translator(".")("{example}")
```

or `python translate.py < lines`. It writes the most probable token each time, and shows what the
two graphs take and give.
""",
}
USES["ctranslate2-int8"] = f"Its matrices are rounded to 8 bits.\n\n{USES['ctranslate2']}"
ELSEWHERE = (
    f"Measured with `{LIBRARY}`, by its search, on the weights from which this folder was made: "
    "measure the folder itself where it is to be used.\n\n"
)


def write_card(
    run: RunConfig,
    metrics: Sequence[dict[str, Any]],
    reports: Sequence[dict[str, Any]],
    made_from: MadeFrom,
    fields: dict[str, Any],
    form: str = "folder",
) -> str:
    """The card in Markdown, with the head that the hub reads.

    Args:
        run: the model's sizes, the recipe, the data.
        metrics: the lines of the run's metrics.jsonl.
        reports: the scores that are known, one report a split.
        made_from: where the weights come from.
        fields: of the head, such as license.
        form: of the folder that it lies in, one of `USES`.
    """
    source, target = run.data["source"], run.data["target"]
    past = past_of(run, metrics, made_from)
    name = f"Transformer, {source} to {target}, {past.name}"
    is_ours = form == "folder"  # only there are the scores the folder's own
    results = [result for report in reports for result in results_of(report)]
    head = ModelCardData(
        language=[source, target],
        library_name=LIBRARIES[form],
        pipeline_tag=TASK,
        tags=["pytorch", "transformer", "attention-is-all-you-need"],
        model_name=name,
        eval_results=results if is_ours and results else None,
        **fields,
    )
    parts = [
        f"---\n{head.to_yaml()}\n---\n",
        f"# {name}\n",
        f"{past.says}\n",
        "## The model\n\n" + rows(about_the_model(run.model, past.departures)),
        "## How it was trained\n\n" + rows({**past.training, "weights": str(made_from)}),
        "## What it scores\n\n" + ELSEWHERE * (not is_ours and bool(reports)) + scores_of(reports),
        "## How to use it\n\n" + USES[form].format(example=EXAMPLES.get(source, "...")),
        "## What it is not good for\n\n" + limits(past),
    ]
    return "\n".join(parts)


class Past(NamedTuple):
    """What the card of a model that was trained here says otherwise than that of an imported one.

    name: the end of the model's.
    says: who trained it.
    training: rows of a table.
    departures: from the paper's training.
    text: what it was trained on.
    lowercase: whether it was lower-cased.
    """

    name: str
    says: str
    training: dict[str, str]
    departures: list[str]
    text: str
    lowercase: bool


def past_of(run: RunConfig, metrics: Sequence[dict[str, Any]], made_from: MadeFrom) -> Past:
    """What is known of how a model was trained."""
    if run.recipe is None:
        says = f"Others trained it; the package `{LIBRARY}` runs it."
        return Past(str(made_from), says, {"training": "not known"}, [], "its training", False)
    text = run.data["name"]
    return Past(
        f"trained on {text}",
        f"The model of [Attention Is All You Need]({PAPER}), built and trained with the package "
        f"`{LIBRARY}`.",
        about_the_training(run, metrics),
        training_departures(run.recipe),
        text,
        run.recipe.lowercase,
    )


EXAMPLES = {"en": "The old woman reads the book.", "de": "Die alte Frau liest das Buch."}


def rows(values: dict[str, str]) -> str:
    """A table of two columns."""
    lines = [f"| {key} | {value} |" for key, value in values.items()]
    return "\n".join(["| | |", "|---|---|", *lines]) + "\n"


def about_the_model(model: TransformerConfig, of_training: list[str]) -> dict[str, str]:
    """Sizes, and where the model and its training depart from the paper."""
    departures = [*model.departures(), *of_training]
    return {
        "parameters": f"{model.count_parameters():,}",
        "layers (N) in encoder and decoder": " and ".join(map(str, model.depths)),
        "d_model, d_ff, heads": f"{model.d_model}, {model.d_ff}, {model.num_heads}",
        "vocabulary": f"{model.vocab_size:,} pieces, shared by both languages",
        "departures from the paper": ", ".join(departures) or "none",
    }


def about_the_training(run: RunConfig, metrics: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Data, recipe, length, cost and the validation at the end."""
    training, data = run.training, run.data
    pairs = {name: f"{split['pairs']:,}" for name, split in data.get("splits", {}).items()}
    values = {
        "data": f"{data['name']}: "
        + ", ".join(f"{number} pairs ({name})" for name, number in pairs.items()),
        "batch": f"at most {training.batch_tokens or training.max_tokens:,} tokens a side",
        "warm-up, label smoothing, dropout": f"{training.warmup:,} steps, "
        f"{training.label_smoothing}, {run.model.dropout}",
        "seed, precision": f"{training.seed}, {training.precision}",
    }
    if not metrics:
        return {**values, "length and cost": "not known: the run's metrics.jsonl is not here"}
    last = metrics[-1]
    minutes = last.get("cpu_seconds", 0.0) / 60
    values["length"] = f"{last['step']:,} steps"
    values["cost"] = f"{minutes:.1f} minutes of processor time"
    if validations := [line for line in metrics if line["event"] == "valid"]:
        end = validations[-1]
        values["validation at the end"] = (
            f"loss {end['loss']:.3f} nats per token, perplexity {end['perplexity']:.2f}, "
            "of the last step's weights"
        )
    return values


def results_of(report: dict[str, Any]) -> list[EvalResult]:
    """The BLEU scores of a report for the head; the hub does not know the others' names."""
    return [
        EvalResult(
            task_type=TASK,
            dataset_type=report["data"],
            dataset_name=report["data"],
            dataset_split=report["split"],
            metric_type="bleu",
            metric_name=PROTOCOL_NAMES[one["name"]],
            metric_value=round(one["value"], 2),
            metric_config=one["signature"],
        )
        for one in report["scores"]
        if one["name"] in BLEU_PROTOCOLS
    ]


def scores_of(reports: Sequence[dict[str, Any]]) -> str:
    """A table of all scores, each with its search and its signature."""
    if not reports:
        return "Nothing has been recorded. `annotated-transformer evaluate` measures it.\n"
    lines = ["| test set | search | measure | score | signature |", "|---|---|---|---|---|"]
    for report in reports:
        chosen = report["alpha_chosen_on"]
        search = f"beam {report['beam']}, α {report['alpha']}{other_limit(report['max_extra'])}"
        search += f" (chosen on {chosen})" if chosen else ""
        lines += [
            f"| {report['data']} {report['split']} | {search} | {PROTOCOL_NAMES[one['name']]} | "
            f"{one['value']:.2f} | {in_a_table(one['signature'])} |"
            for one in report["scores"]
        ]
    return "\n".join(lines) + "\n"


def in_a_table(text: str) -> str:
    """As code in a cell of a Markdown table, where a bar would end the cell."""
    return "`" + text.replace("|", "\\|") + "`"


def limits(past: Past) -> str:
    """What everybody should know who is given the model."""
    text = (
        f"It knows text like that of {past.text} and translates other text badly, without "
        "saying so. It translates sentence by sentence."
    )
    if past.lowercase:
        text += " It was trained on lower-cased text and writes lower case only."
    return text + "\n"
