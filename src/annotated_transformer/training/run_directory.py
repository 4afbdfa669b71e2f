"""A run's folder: config.json, tokenizer.json, metrics.jsonl, model.safetensors, checkpoints/."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_type_hints

import torch
from filelock import FileLock, Timeout

from annotated_transformer.after.build import build_transformer
from annotated_transformer.after.config import LaterConfig, config_from_dict, kind_of
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import Vocabulary
from annotated_transformer.errors import CallError, WorkError
from annotated_transformer.training.checkpoints import (
    average_weights,
    list_checkpoints,
    load_about,
    load_tensors,
    save_tensors,
    stop_path,
    write_atomically,
)
from annotated_transformer.training.made_from import MadeFrom
from annotated_transformer.training.run_files import checked, damaged, read_metrics, read_object
from annotated_transformer.training.settings import TrainingConfig
from annotated_transformer.transformer import Transformer

MODEL_FORMAT = "annotated-transformer model 1"
# What config.json says of the data, and of one of its splits.
DATA = {"preset": str, "name": str, "data_dir": str | None, "source": str, "target": str}
SPLIT = {"pairs": int, "sha256": str}
IMPORTED = "imported"  # the preset of a run whose model others trained
PARTS = {"model": dict, "training": dict | None, "data": dict}  # of config.json


@dataclass(frozen=True)
class RunConfig:
    """What determines a run.

    Args:
        model: the model.
        recipe: how it is trained; None: others trained it, and how is not known.
        data: plain data: name, languages, number of pairs and checksum of each split, origin.

    Raises:
        ValueError: if such a model cannot be trained so.
    """

    model: TransformerConfig
    recipe: TrainingConfig | None
    data: dict[str, Any]

    @property
    def training(self) -> TrainingConfig:
        """The recipe. Raises CallError if it is not known."""
        if self.recipe is None:
            raise CallError(
                "the model was imported: others trained it, and how is not known. Take a run that "
                "`train` has begun."
            )
        return self.recipe

    def __post_init__(self) -> None:
        model, share_rows = self.model, self.recipe is not None and self.recipe.share_rows
        if not isinstance(model, LaterConfig):
            return
        if model.family == "encoder-only":
            raise ValueError(
                "family = encoder-only reads a text and writes none, and a run learns to translate:"
                " take another family."
            )
        if share_rows and model.is_one_stack:
            raise ValueError(
                f"share_rows puts several sentences into a row, and family = {model.family} has "
                "source and target of one sentence there: leave one of the two out."
            )
        if share_rows and model.global_tokens:
            raise ValueError(
                "share_rows puts several sentences into a row, and global_tokens are the first of "
                "a row, not of a sentence: leave one of the two out."
            )


@dataclass(frozen=True)
class RunDirectory:
    """The files of one run."""

    path: Path

    @property
    def config_file(self) -> Path:
        return self.path / "config.json"

    @property
    def tokenizer_file(self) -> Path:
        return self.path / "tokenizer.json"

    @property
    def metrics_file(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def model_file(self) -> Path:
        return self.path / "model.safetensors"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def best_file(self) -> Path:
        """The weights of the best validation, where the run keeps them."""
        return self.checkpoints / "best.safetensors"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for one training process.

        The operating system lets go of the lock when the process ends, however it ends.

        Raises:
            CallError: if another process trains in it.
            WorkError: if it cannot be made.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WorkError(
                f"the folder {self.path} cannot be made ({error.strerror}): name another --run-dir."
            ) from error
        try:
            with FileLock(self.path / ".lock", timeout=0):
                yield
        except Timeout:
            raise CallError(
                f"{self.path} is being trained by another process: wait for it, stop it, or name "
                "another --run-dir."
            ) from None

    def is_begun(self) -> bool:
        """Whether a run lives here."""
        return self.config_file.exists()

    def must_be_new(self) -> None:
        """Raises CallError if the folder already holds something."""
        if self.path.exists() and (not self.path.is_dir() or self._holds_something()):
            raise CallError(
                f"{self.path} is not empty and nothing is overwritten: name another --run-dir"
                + (", or continue the run in it with --resume." if self.is_begun() else ".")
            )

    def _holds_something(self) -> bool:
        return any(entry.name != ".lock" for entry in self.path.iterdir())

    def create(self, config: RunConfig, vocabulary: Vocabulary) -> None:
        """Begin a run. Raises CallError if the folder already holds something."""
        self.must_be_new()
        write_atomically(self.tokenizer_file, vocabulary.save)
        values = {
            "model": config.model.to_dict(),
            "training": config.recipe and config.recipe.to_dict(),
            "data": config.data,
        }
        text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
        write_atomically(self.config_file, lambda target: target.write_text(text, "utf-8"))

    def read_config(self) -> RunConfig:
        """The configuration of the run.

        Raises:
            CallError: if no run lives here.
            WorkError: if config.json is damaged.
        """
        if not self.is_begun():
            raise self._holds_no_run()
        path, advice = self.config_file, "Restore it, or train anew."
        values = read_object(path, advice)
        if not values.keys() & PARTS.keys():
            raise self._holds_no_run()
        checked(values, PARTS, path, advice)
        data = checked(values["data"], {**DATA, "splits": dict}, f"data in {path}", advice)
        for name, split in data["splits"].items():
            checked(split, SPLIT, f"the split {name} in {path}", advice)
        parts: dict[str, type] = {"model": kind_of(values["model"]), "training": TrainingConfig}
        if data["preset"] == IMPORTED:  # an older version wrote a recipe there all the same
            del parts["training"]
        for name, kind in parts.items():
            kinds = get_type_hints(kind)  # an older version had fewer fields
            checked(values[name], kinds, f"{name} in {path}", advice, may_lack=kinds)
        try:
            return RunConfig(
                config_from_dict(values["model"]),
                TrainingConfig.from_dict(values["training"]) if "training" in parts else None,
                data,
            )
        except ValueError as error:
            raise damaged(path, str(error).removesuffix("."), advice) from error

    def _holds_no_run(self) -> CallError:
        """What is said of a folder in which no run lives."""
        runs = sorted(file.parent for file in self.path.glob(f"*/{self.config_file.name}"))
        expected = "name the folder that `train`, `import` or `export` (without --format) wrote."
        if not self.path.exists():
            found = "there is no such folder"
        elif not self.path.is_dir():
            found = "it is a file"
        elif self.is_begun():
            found = f"its {self.config_file.name} is another program's"
            expected = (
                "name the run that it was exported from. A Marian model of others becomes a run "
                "with `annotated-transformer import`."
            )
        elif runs:
            found = "it looks like a folder of runs"
            expected = f"name one of them, such as {runs[0]}."
        else:
            found = f"there is no {self.config_file.name} in it"
        return CallError(f"{self.path} holds no run ({found}): {expected}")

    def read_vocabulary(self, config: RunConfig) -> Vocabulary:
        """The vocabulary of the run.

        Raises:
            CallError: if it is not there.
            WorkError: if it is damaged or another run's, or config.json names other ids.
        """
        vocabulary = Vocabulary.load(self.tokenizer_file)
        if len(vocabulary) != config.model.vocab_size:
            raise WorkError(
                f"{self.tokenizer_file} has {len(vocabulary)} pieces and the model was built for "
                f"{config.model.vocab_size}: it is another run's vocabulary."
            )
        for name in ("pad_id", "bos_id", "eos_id"):
            if getattr(config.model, name) != getattr(vocabulary, name):
                raise damaged(
                    self.config_file,
                    f"{name} is {getattr(config.model, name)}, and {getattr(vocabulary, name)} in "
                    "every vocabulary",
                    "Restore it, or train anew.",
                )
        return vocabulary

    def append_metrics(self, values: dict[str, Any]) -> None:
        """Add one line to metrics.jsonl."""
        try:
            with open(self.metrics_file, "a", encoding="utf-8") as file:
                file.write(json.dumps(values) + "\n")
        except OSError as error:
            raise WorkError(
                f"{self.metrics_file} could not be written: {error}. The checkpoints are intact; "
                "make room, then go on with --resume."
            ) from error

    def read_metrics(self) -> list[dict[str, Any]]:
        """Every line of metrics.jsonl; one at the end that a crash has cut off is left out.

        Raises:
            WorkError: if it is damaged otherwise.
        """
        return read_metrics(self.metrics_file)

    def forget_metrics_after(self, step: int) -> None:
        """Drop the lines of steps that a resumed run will take again."""
        kept = [json.dumps(line) + "\n" for line in self.read_metrics() if line["step"] <= step]
        write_atomically(self.metrics_file, lambda file: file.write_text("".join(kept), "utf-8"))

    def save_model(self, weights: dict[str, torch.Tensor], made_from: MadeFrom) -> None:
        """Write model.safetensors. `made_from` says where the weights come from."""
        save_weights(self.model_file, weights, made_from)

    def load_model(self) -> dict[str, torch.Tensor]:
        """The weights of model.safetensors. Raises WorkError if it is damaged or not ours."""
        return load_tensors(self.model_file, MODEL_FORMAT, self._advice)[0]

    def made_from(self) -> MadeFrom:
        """Where they come from; no weight is read. Raises as `load_model`."""
        about = load_about(self.model_file, MODEL_FORMAT, self._advice)
        return MadeFrom.read(about.get("made_from", ""), self.model_file, self._advice)

    @property
    def _advice(self) -> str:
        """What to do where model.safetensors is damaged."""
        return f"Make it anew with `annotated-transformer average --run-dir {self.path}`."


def save_weights(path: Path, weights: dict[str, torch.Tensor], made_from: MadeFrom) -> None:
    """Write weights and where they come from."""
    save_tensors(path, weights, {"format": MODEL_FORMAT, "made_from": asdict(made_from)})


def average_checkpoints(directory: RunDirectory, last: int) -> MadeFrom:
    """Make model.safetensors the mean of the last checkpoints (section 6.1).

    Returns:
        Which those are.

    Raises:
        CallError: if fewer than `last` checkpoints are there.
        WorkError: if they are another model's than the run's.
    """
    found = list_checkpoints(directory.checkpoints)
    if not found:
        stop = stop_path(directory.checkpoints)
        raise CallError(
            f"{directory.checkpoints} holds no checkpoint to average yet: "
            + (f"{stop.name} is for resuming only; train on." if stop.exists() else "train first.")
        )
    if not 1 <= last <= len(found):
        raise CallError(
            f"--last {last}: {directory.checkpoints} holds {len(found)} checkpoints; give a number "
            f"from 1 to {len(found)}."
        )
    chosen = found[-last:]
    weights = average_weights([path for _, path in chosen])
    with torch.device("meta"):  # names and shapes alone
        model = build_transformer(directory.read_config().model)
    refuse_another_models(weights, model, chosen[-1][1])
    made_from = MadeFrom(tuple(step for step, _ in chosen))
    directory.save_model(weights, made_from)
    return made_from


def model_weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The weights by name; a matrix that stands in several places is written once."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def refuse_another_models(
    weights: dict[str, torch.Tensor], model: torch.nn.Module, origin: Path
) -> None:
    """Compare names and shapes.

    Raises:
        WorkError: if they are not this model's.
    """
    parameters = dict(model.named_parameters())
    wrong = [
        name
        for name in parameters.keys() | weights.keys()
        if name not in parameters
        or name not in weights
        or parameters[name].shape != weights[name].shape
    ]
    if wrong:
        raise WorkError(
            f"{origin} holds the weights of another model than config.json describes: "
            f"{len(wrong)} of them differ in name or shape, for example {sorted(wrong)[0]}."
        )


def set_model_weights(
    model: torch.nn.Module, weights: dict[str, torch.Tensor], origin: Path
) -> None:
    """Copy weights into the model.

    Raises:
        WorkError: if names or shapes are another model's.
    """
    refuse_another_models(weights, model, origin)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])


def load_run(
    path: Path | str, device: torch.device | str = "cpu"
) -> tuple[Transformer, Vocabulary, RunConfig]:
    """A trained model in evaluation mode, its vocabulary and its configuration.

    Raises:
        CallError: if no run lives in `path` or it has no model.safetensors yet.
        WorkError: if a file of it is damaged.
    """
    directory = RunDirectory(Path(path))
    config = directory.read_config()
    vocabulary = directory.read_vocabulary(config)
    if not directory.model_file.exists():
        raise CallError(
            f"{directory.path} has no {directory.model_file.name} yet: let the training end "
            f"(--resume), or run `annotated-transformer average --run-dir {directory.path}`."
        )
    weights = directory.load_model()
    numbers = sum(tensor.numel() for tensor in weights.values())
    if numbers != config.model.count_parameters():  # before so many are made
        raise WorkError(
            f"{directory.model_file} holds {numbers:,} numbers, and a model as "
            f"{directory.config_file} describes it has {config.model.count_parameters():,}: one of "
            "the two is another run's."
        )
    model = build_transformer(config.model)
    set_model_weights(model, weights, directory.model_file)
    return model.to(device).eval(), vocabulary, config
