"""Who takes part in `benchmark decoding`: this package, itself without a cache, and its peers."""

import copy
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from annotated_transformer.config import MAX_EXTRA
from annotated_transformer.data import collate
from annotated_transformer.decoding import beam_search, incremental_decoder
from annotated_transformer.decoding.beam import IncrementalDecoder, search
from annotated_transformer.fast.attach import use_fast_paths
from annotated_transformer.sharing.ports import NEVER, ctranslate2_folder, hugging_face_of
from annotated_transformer.transformer import Transformer

OURS = "this package"
NO_CACHE = "this package, without a cache"
CTRANSLATE2 = "CTranslate2"
AS_LONG_AS_OURS = ", never early"  # like ours: stops when nothing can change its result

EarlyStopping = Literal[False, "never"]  # of Hugging Face's `generate`
Decode = Callable[[Tensor], list[list[int]]]  # sources (batch, n_src) to tokens from bos to eos


@dataclass(frozen=True)
class Task:
    """What everybody is asked.

    Attributes:
        model: whose weights all have, in float32.
        beam_size: of the search.
        alpha: of the length penalty. Peers divide by length ** alpha, we by the paper's formula;
            at 0 all do the same.
        fixed_length: translations get as many tokens as the longest source of their batch, and
            nobody may end one: for random weights, whose eos comes at no sensible place.
    """

    model: Transformer
    beam_size: int
    alpha: float
    fixed_length: bool

    @property
    def banned(self) -> tuple[int, ...]:
        """Tokens that have no probability: random weights would generate them, trained do not."""
        config = self.model.config
        return (config.pad_id, config.bos_id, config.eos_id) if self.fixed_length else ()

    def longest(self, src: Tensor) -> int:
        """How many tokens a translation of this batch may have."""
        return src.shape[1] + (0 if self.fixed_length else MAX_EXTRA)


@dataclass(frozen=True)
class Decoder:
    """One program in one precision.

    Attributes:
        name: whose it is.
        precision: of the matrix products: "fp32", "bf16" or "int8".
        decode: translates one batch.
    """

    name: str
    precision: str
    decode: Decode


def line_up(task: Task) -> tuple[list[Decoder], list[str]]:
    """Everybody who can take part, ours first, and who cannot because it is not installed."""
    config = task.model.config
    marian = "Hugging Face " + (
        "Marian" if config.norm == "post" else "Pegasus (Marian, norms first)"
    )
    half = copy.deepcopy(task.model).bfloat16()
    use_fast_paths(half)
    decoders = [
        Decoder(name, precision, our_decode(task, model, use_cache))
        for name, use_cache in ((OURS, True), (NO_CACHE, False))
        for precision, model in (("fp32", task.model), ("bf16", half))
    ]
    missing = []
    try:
        stops: dict[str, EarlyStopping] = {"": False, AS_LONG_AS_OURS: "never"}
        for suffix, early_stopping in stops.items():
            for precision, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
                decode = hugging_face_decode(task, dtype, early_stopping)
                decoders.append(Decoder(marian + suffix, precision, decode))
    except ImportError:
        missing.append(marian)
    if task.model.device.type == "cpu":
        try:
            for precision, kind in (("fp32", "float32"), ("int8", "int8")):
                decoders.append(Decoder(CTRANSLATE2, precision, ctranslate2_decode(task, kind)))
        except ImportError:
            missing.append(CTRANSLATE2)
    return decoders, missing


def our_decode(task: Task, model: Transformer, use_cache: bool) -> Decode:
    """Our search, as `translate` runs it, or to a fixed length."""
    config = model.config

    def decode(src: Tensor) -> list[list[int]]:
        found = beam_search(model, src, task.beam_size, task.alpha, use_cache=use_cache)
        return [list(best.tokens) for [best] in found]

    @torch.inference_mode()
    def decode_to_the_end(src: Tensor) -> list[list[int]]:
        decoder = incremental_decoder(model, src, task.beam_size, use_cache)
        found = search(
            Banning(decoder, task.banned),
            [task.longest(src)] * len(src),
            beam_size=task.beam_size,
            alpha=task.alpha,
            nbest=1,
            bos_id=config.bos_id,
            eos_id=config.eos_id,
            never=(config.pad_id, config.bos_id),
            device=src.device,
        )
        return [list(best.tokens) for [best] in found]

    return decode_to_the_end if task.fixed_length else decode


class Banning:
    """An incremental decoder with some tokens banned, as ports.py bans them for the others."""

    def __init__(self, decoder: IncrementalDecoder, banned: tuple[int, ...]) -> None:
        self.decoder, self.banned = decoder, list(banned)
        self.select = decoder.select

    def next_logits(self, prefixes: Tensor) -> Tensor:
        """(live, beam, length) -> (live, beam, vocab)."""
        logits = self.decoder.next_logits(prefixes)
        logits[..., self.banned] = NEVER
        return logits


def hugging_face_decode(
    task: Task, dtype: torch.dtype, early_stopping: EarlyStopping = False
) -> Decode:
    """Its `generate`, with a cache.

    Args:
        early_stopping: False, its default, stops where no hypothesis of the present length could
            win; "never", as this package does, where none of any length could.
    """
    twin: Any = hugging_face_of(task.model, task.banned).to(dtype)
    config = task.model.config

    def decode(src: Tensor) -> list[list[int]]:
        tokens = twin.generate(
            input_ids=src,
            attention_mask=(src != config.pad_id).long(),
            num_beams=task.beam_size,
            length_penalty=task.alpha,
            max_new_tokens=task.longest(src),
            do_sample=False,
            early_stopping=early_stopping,
        )  # (batch, length), which ends in eos, eos, ... where others are longer
        return [until(row, config.eos_id) for row in tokens.tolist()]

    return decode


def ctranslate2_decode(task: Task, kind: str) -> Decode:
    """Its `translate_batch`, on as many threads as PyTorch has."""
    import ctranslate2

    config = task.model.config
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        ctranslate2_folder(task.model, path, kind, task.banned)
        translator = ctranslate2.Translator(
            str(path),
            device="cpu",
            compute_type=kind,
            inter_threads=1,
            intra_threads=torch.get_num_threads(),
        )

    def decode(src: Tensor) -> list[list[int]]:
        sources = [[str(token) for token in row if token != config.pad_id] for row in src.tolist()]
        found = translator.translate_batch(
            sources,
            beam_size=task.beam_size,
            length_penalty=task.alpha,
            max_decoding_length=task.longest(src),
            return_end_token=True,
        )
        return [[config.bos_id, *map(int, one.hypotheses[0])] for one in found]

    return decode


def until(tokens: Sequence[int], last: int) -> list[int]:
    """The tokens up to the first `last`, that one included."""
    row = list(tokens)
    return row[: row.index(last) + 1] if last in row else row


def batches_by_length(sources: Sequence[Sequence[int]], max_tokens: int) -> list[list[int]]:
    """Which sentences are translated together, by length, at most max_tokens with padding."""
    batches: list[list[int]] = [[]]
    for index in sorted(range(len(sources)), key=lambda index: len(sources[index])):
        if batches[-1] and (len(batches[-1]) + 1) * len(sources[index]) > max_tokens:
            batches.append([])
        batches[-1].append(index)
    return batches


def as_tensors(
    sources: Sequence[Sequence[int]], batches: Sequence[Sequence[int]], model: Transformer
) -> list[Tensor]:
    """The batches as (batch, n_src), padded, where the model is."""
    pad_id = model.config.pad_id
    return [
        collate([sources[index] for index in batch], pad_id).to(model.device) for batch in batches
    ]
