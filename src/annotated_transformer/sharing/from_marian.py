"""A Marian model of the Hugging Face Hub (OPUS-MT) as a run directory of this package.

Then the tools of the chapters look into a model that others trained. Two things are put into our
order on the way: its sinusoids have all sines before all cosines (`ports`), and its vocabulary
becomes one whose first four ids are ours. It begins a translation with its padding, whose vector
our start sign gets.

Both languages share one table, and each has its own SentencePiece. Text is cut as the source is
there; so a *reference* in the target language is cut into more pieces than in Marian, while what
the model writes itself is read as it is.
"""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from torch import Tensor

from annotated_transformer.after.build import build_transformer
from annotated_transformer.after.config import LaterConfig
from annotated_transformer.data import Vocabulary
from annotated_transformer.data.vocabulary import SPECIALS, WORD_MARK
from annotated_transformer.errors import CallError, WorkError
from annotated_transformer.sharing.ports import place_in_ours, sines_first
from annotated_transformer.training import RunConfig, RunDirectory
from annotated_transformer.training.made_from import MadeFrom
from annotated_transformer.training.run_directory import IMPORTED, refuse_another_models
from annotated_transformer.training.run_files import damaged, read_object

ADVICE = "Give a folder with a Marian model, as `save_pretrained` of `transformers` writes it."
NOT_OF_THE_SOURCE = -10_000.0  # the score of a piece that the source's SentencePiece does not have
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "silu", "silu": "silu"}
EXPECTED = {  # what every Marian model of the hub has, and this importer relies on
    "scale_embedding": True,
    "share_encoder_decoder_embeddings": True,
    "static_position_embeddings": True,
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
}
SIZES = {
    "d_model": int,
    "encoder_layers": int,
    "decoder_layers": int,
    "encoder_ffn_dim": int,
    "decoder_ffn_dim": int,
    "encoder_attention_heads": int,
    "decoder_attention_heads": int,
    "activation_function": str,
    "pad_token_id": int,
    "eos_token_id": int,
}
EPS = 1e-5  # of Marian's norms


def import_marian(folder: Path, run_dir: Path, source: str, target: str) -> RunConfig:
    """Write the run directory.

    Args:
        folder: config.json, model.safetensors, vocab.json, source.spm.
        run_dir: new, or empty.
        source: the language it reads, such as "en".
        target: the language it writes.

    Returns:
        The run's configuration.

    Raises:
        CallError: `run_dir` holds something, a file of `folder` is missing, or `sentencepiece` is
            not installed.
        WorkError: a file is damaged, or the model is one that has no place here.
    """
    directory = RunDirectory(run_dir)
    directory.must_be_new()
    path = folder / "config.json"
    kind = read_object(path, ADVICE).get("model_type", "not named")
    if kind != "marian":
        raise damaged(path, f"model_type is {kind!r}, and 'marian' is what can be read", ADVICE)
    given = read_object(path, ADVICE, SIZES)
    for name, value in EXPECTED.items():
        if given.get(name, value) != value:
            what = f"{name} is {given[name]!r}, and {value!r} is what can be read"
            raise damaged(path, what, ADVICE)
    vocabulary, order = read_vocabulary(folder, given["pad_token_id"], given["eos_token_id"])
    model = model_of(given, len(vocabulary), path)
    weights = read_weights(folder / "model.safetensors", order)
    with torch.device("meta"):  # names and shapes alone
        refuse_another_models(weights, build_transformer(model), folder / "model.safetensors")
    data: dict[str, Any] = {
        "preset": IMPORTED,
        "name": "unknown",
        "data_dir": None,
        "source": source,
        "target": target,
        "splits": {},
    }
    config = RunConfig(model, None, data)
    directory.create(config, vocabulary)
    directory.save_model(weights, MadeFrom(imported=folder.resolve().name))
    return config


def model_of(given: Mapping[str, Any], vocab_size: int, path: Path) -> LaterConfig:
    """Marian's configuration as ours.

    Raises:
        WorkError: if it has sizes or parts that ours has no place for.
    """
    if given["activation_function"] not in ACTIVATIONS:
        raise damaged(path, f"the activation {given['activation_function']!r} is not known", ADVICE)
    for size in ("attention_heads", "ffn_dim"):
        if given[f"encoder_{size}"] != given[f"decoder_{size}"]:
            raise damaged(path, f"encoder and decoder differ in {size}", ADVICE)
    try:
        return LaterConfig(
            vocab_size,
            given["d_model"],
            given["encoder_ffn_dim"],
            given["encoder_attention_heads"],
            given["encoder_layers"],
            decoder_layers=given["decoder_layers"],
            attention_bias=True,
            layer_norm_eps=EPS,
            network=ACTIVATIONS[given["activation_function"]],  # type: ignore[arg-type]
            output_bias=True,
        )
    except ValueError as error:
        raise damaged(path, str(error).removesuffix("."), ADVICE) from error


def read_vocabulary(folder: Path, pad: int, eos: int) -> tuple[Vocabulary, list[int]]:
    """A vocabulary of ours with Marian's pieces.

    Args:
        pad: Marian's id of padding.
        eos: Marian's id of the end.

    Returns:
        The vocabulary, and of each of its ids Marian's.
    """
    path = folder / "vocab.json"
    ids = read_object(path, ADVICE)
    if sorted(map(str, ids.values())) != sorted(map(str, range(len(ids)))):
        raise damaged(path, "its ids are not the numbers from 0 on", ADVICE)
    names = {number: piece for piece, number in ids.items()}
    if pad not in names or eos not in names or "<unk>" not in ids:
        raise damaged(path, "padding, the end or <unk> is missing", ADVICE)
    first = [pad, pad, eos, ids["<unk>"]]  # Marian begins with its padding
    order = [*first, *(number for number in range(len(ids)) if number not in first)]
    scores, charsmap = read_sentence_piece(folder / "source.spm")
    pieces = [(name, NOT_OF_THE_SOURCE) for name in SPECIALS]
    pieces += [
        (names[number], scores.get(names[number], NOT_OF_THE_SOURCE))
        for number in order[len(first) :]
    ]
    if len(dict(pieces)) < len(pieces):
        raise damaged(path, "it has a piece that is called as one of our signs", ADVICE)
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=Vocabulary.unk_id, byte_fallback=False))
    steps = [normalizers.Precompiled(charsmap)] if charsmap else []
    tokenizer.normalizer = normalizers.Sequence(
        [*steps, normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(
        replacement=WORD_MARK, prepend_scheme="always"
    )
    tokenizer.decoder = decoders.Metaspace(replacement=WORD_MARK, prepend_scheme="always")
    return Vocabulary(tokenizer), order


def read_sentence_piece(path: Path) -> tuple[dict[str, float], bytes]:
    """Of a model of SentencePiece the score of each piece, and how it normalises characters.

    Raises:
        CallError: it is missing, or `sentencepiece` is not installed.
        WorkError: it is damaged, or no unigram model.
    """
    try:
        written = importlib.import_module("sentencepiece.sentencepiece_model_pb2")
    except ImportError as error:
        raise CallError(
            f"{path.name} is read with SentencePiece, and {error.name} is not installed: pip "
            "install sentencepiece protobuf"
        ) from error
    try:
        proto = written.ModelProto.FromString(path.read_bytes())
    except FileNotFoundError as error:
        raise CallError(f"{path} is missing. {ADVICE}") from error
    except Exception as error:  # protobuf's own kind
        raise damaged(path, "it is no model of SentencePiece", ADVICE) from error
    unigram, normal = 1, 1  # of its enumerations
    if proto.trainer_spec.model_type != unigram or not proto.pieces:
        raise damaged(path, "it is no unigram model", ADVICE)
    scores = {piece.piece: piece.score for piece in proto.pieces if piece.type == normal}
    return scores, proto.normalizer_spec.precompiled_charsmap


def read_weights(path: Path, order: list[int]) -> dict[str, Tensor]:
    """The weights by our names, in our order.

    Args:
        order: of each of our tokens Marian's id.

    Raises:
        CallError: the file is missing.
        WorkError: it is damaged, or holds what has no place here.
    """
    if not path.is_file():
        raise CallError(
            f"{path} is missing. If the model has pytorch_model.bin alone, load it with "
            "`transformers` and save it again: a file that can run code is not opened here."
        )
    found: dict[str, Tensor] = {}
    try:
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118
                if name.endswith("embed_positions.weight"):
                    continue  # sinusoids, which are computed
                values = file.get_tensor(name).float()
                if name == "final_logits_bias":
                    found["projection.bias"] = values[0, order].clone()
                    continue
                place, axis = place_in_ours(name)
                if axis is not None:
                    back = sines_first(values.size(axis)).argsort()
                    values = values.index_select(axis, back)
                found[place] = (values[order] if "table" in place else values).contiguous()
    except (OSError, SafetensorError, IndexError, ValueError, KeyError) as error:
        raise WorkError(
            f"{path} cannot be read ({error}): it is damaged, or no Marian model. {ADVICE}"
        ) from error
    return found
