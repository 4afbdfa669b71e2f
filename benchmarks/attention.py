"""Which form of attention is fastest on this CPU: fused or in three operations, fp32 or bf16,
with the softmax in either.

Run `python benchmarks/attention.py`. Prints, for several lengths, the median processor time of
forward and backward relative to the fused kernel in float32, measured in turn in one process.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from annotated_transformer.attention import scaled_dot_product_attention
from annotated_transformer.fast.cpu_attention import softmax_in_float32

TOKENS = 2048  # a batch, whatever the length of its sentences


def three_operations(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Scores, softmax, weighted sum."""
    return masked_scores(query, key, mask).softmax(-1) @ value


def with_softmax_in_float32(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """The same, as this package computes the softmax of bfloat16."""
    return softmax_in_float32(masked_scores(query, key, mask)) @ value


def masked_scores(query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
    """Minus infinity where the mask hides."""
    scores = (query * query.size(-1) ** -0.5) @ key.transpose(-2, -1)
    return scores.masked_fill(~mask, float("-inf"))


FORMS: dict[str, Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]] = {
    "fused": functional.scaled_dot_product_attention,
    "three operations": three_operations,
    "softmax in float32": with_softmax_in_float32,
    "teaching path": lambda q, k, v, mask: scaled_dot_product_attention(q, k, v, mask)[0],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(f"torch {torch.__version__}, {arguments.threads} threads, {TOKENS} tokens, 4 heads of 32")
    for n in (8, 14, 22, 30, 32, 64, 128, 256):
        batch = TOKENS // n
        mask = torch.ones(batch, 1, 1, n, dtype=torch.bool)
        mask[:, :, :, -1] = torch.rand(batch, 1, 1) > 0.3
        times: dict[tuple[str, torch.dtype], list[float]] = {}
        for _ in range(arguments.repeats):
            for dtype in (torch.float32, torch.bfloat16):
                x = torch.randn(3, batch, 4, n, 32, dtype=dtype, requires_grad=True)
                for name, form in FORMS.items():
                    began = time.process_time()
                    form(*x, mask).sum().backward()
                    times.setdefault((name, dtype), []).append(time.process_time() - began)
        reference = statistics.median(times["fused", torch.float32])
        cells = [
            f"{name} {str(dtype).removeprefix('torch.')} {statistics.median(t) / reference:.2f}"
            for (name, dtype), t in times.items()
        ]
        print(f"n = {n}: " + ", ".join(cells))


if __name__ == "__main__":
    main()
