"""The gradient of a batch as one CUDA graph: recorded once, replayed with one call.

A step of the base model starts more than a thousand kernels, each by Python. Where a kernel takes
less time than its start, the GPU waits for Python. A graph holds all starts; it can be replayed
where every batch has the same shape, as batches in shared rows have.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from annotated_transformer.fast.shared_rows import SharedRowBatch
from annotated_transformer.transformer import Transformer

WARM_UP = 3  # passes before recording: what is compiled or chosen at first use happens there


@contextmanager
def attention_for_one_shape(width: int) -> Iterator[None]:
    """Inside, PyTorch may take cuDNN's attention, the fastest for many sentences of one shape.

    Not for widths that are no multiple of 128: with a mask its backward pass can give NaN for those
    that leave 64 over (PyTorch's issue 196678, found in 2.11 on an H100 and H200).
    """
    before = torch.backends.cuda.cudnn_sdp_enabled()  # type: ignore[no-untyped-call]
    torch.backends.cuda.enable_cudnn_sdp(width % 128 == 0)
    try:
        yield
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before)


class RecordedGradients:
    """Loss and gradient of batches in shared rows, by a CUDA graph.

    The graph writes the gradients to the same place at each replay, over what was there.

    Args:
        model: on a GPU. Training mode and precision are recorded as they are.
        loss_of: the loss of a batch, summed over its tokens: a scalar.
    """

    def __init__(self, model: Transformer, loss_of: Callable[[SharedRowBatch], Tensor]) -> None:
        self.model, self.loss_of = model, loss_of
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self._graph: torch.cuda.CUDAGraph | None = None
        self._gradients: list[Tensor | None] = []
        self._buffers: list[Tensor] = []

    def make(self, batch: SharedRowBatch, target_tokens: int) -> Tensor:
        """Make the gradient of the mean loss of a batch the model's, in place of what it had.

        Args:
            batch: of the shape of all others.
            target_tokens: of the whole step.

        Returns:
            The loss, summed over the tokens, in nats: a scalar on the GPU, not waited for.
        """
        if self._graph is None:
            with attention_for_one_shape(batch.src.size(1)):
                self._graph = self._record(batch)
        self._numbers.copy_(batch.numbers, non_blocking=True)
        self._scale.fill_(1 / target_tokens)
        self._graph.replay()
        for parameter, gradient in zip(self.parameters, self._gradients, strict=True):
            parameter.grad = gradient
        return self._loss.clone()  # the next replay writes over it

    def _record(self, batch: SharedRowBatch) -> torch.cuda.CUDAGraph:
        device = self.model.device
        self._numbers = batch.numbers.to(device)
        self._scale = torch.ones((), device=device)
        # A longer table of positions replaces the old one, which the graph still reads.
        self._buffers = list(self.model.buffers())
        own = SharedRowBatch(self._numbers, batch.indices)
        before = torch.cuda.get_rng_state(device)
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        try:
            with torch.cuda.stream(stream):
                for _ in range(WARM_UP):
                    self._pass(own, self._scale)
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            # Other threads may go on meanwhile: they make batches, or wait for other processes.
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                self._loss = self._pass(own, self._scale)
            self._gradients = [p.grad for p in self.parameters]
        finally:
            for parameter in self.parameters:
                parameter.grad = None
            torch.cuda.set_rng_state(before, device)
        return graph

    def _pass(self, batch: SharedRowBatch, scale: Tensor) -> Tensor:
        for parameter in self.parameters:
            parameter.grad = None
        loss = self.loss_of(batch)
        (loss * scale).backward()  # type: ignore[no-untyped-call]
        return loss.detach()
