"""Batches that are ready when the device wants them: made one step ahead, beside its work.

A GPU does what it is given while Python goes on. What Python does between two steps, padding
thousands of sentences among it, is time in which the GPU has nothing to do. Here the next step's
batches are made by a second thread meanwhile, in memory that the GPU can fetch from by itself
(pinned). On a CPU such a thread would take a core from the work, so batches are made when asked.

The batches are the same either way, and so is their order.
"""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import torch

from annotated_transformer.data import Batch, EncodedSplit, make_batch
from annotated_transformer.fast.shared_rows import RowShape, SharedRowBatch, shared_row_batch
from annotated_transformer.training.step import Part


class Loader:
    """Makes the batches of parts.

    Args:
        pad_id: fills up short sentences.
        device: that computes with them. A GPU gets pinned memory.
        ahead: whether announced parts are made by a second thread.
        shape: of rows that sentences share; None: each sentence has its own.
    """

    def __init__(
        self, pad_id: int, device: torch.device, ahead: bool, shape: RowShape | None = None
    ) -> None:
        self.pad_id = pad_id
        self.shape = shape
        self.pins = device.type == "cuda"
        self._pool = ThreadPoolExecutor(1, "batches") if ahead else None
        self._begun: dict[
            tuple[int, int], Future[Batch | SharedRowBatch]
        ] = {}  # by epoch and place

    def announce(self, split: EncodedSplit, parts: Sequence[Part]) -> None:
        """Begin with these: they will be asked for next."""
        if self._pool is not None:
            for part in parts:
                key = part.epoch, part.place
                self._begun[key] = self._pool.submit(self._make, split, part)

    def batch(self, split: EncodedSplit, part: Part) -> Batch | SharedRowBatch:
        """The batch of a part, announced or not."""
        begun = self._begun.pop((part.epoch, part.place), None)
        return self._make(split, part) if begun is None else begun.result()

    def _make(self, split: EncodedSplit, part: Part) -> Batch | SharedRowBatch:
        if self.shape is not None:
            shared = shared_row_batch(split, part.indices, self.shape, self.pad_id)
            return (
                SharedRowBatch(shared.numbers.pin_memory(), shared.indices) if self.pins else shared
            )
        batch = make_batch(split, part.indices, self.pad_id)
        if self.pins:
            return Batch(batch.src.pin_memory(), batch.tgt.pin_memory(), batch.indices)
        return batch

    def close(self) -> None:
        """End the second thread; what is asked for afterwards is made when asked."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._pool = None
        self._begun.clear()
