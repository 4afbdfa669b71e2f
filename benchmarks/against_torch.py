"""How much faster two parts are than what PyTorch offers: `top_k` and byte dropout, on this CPU.

Run `python benchmarks/against_torch.py`. Both forms run in turn in one process; printed is the
median over the repeats of PyTorch's processor time divided by ours (above 1: ours is faster), with
the quartiles.
"""

import argparse
import platform
import statistics
import time
from collections.abc import Callable

import torch
from torch import nn

from annotated_transformer.fast.byte_dropout import ByteDropout
from annotated_transformer.fast.top_k import top_k


def ratios(theirs: Callable[[], object], ours: Callable[[], object], repeats: int) -> str:
    """Time of theirs over time of ours, measured side by side."""
    found = []
    for _ in range(repeats + 3):
        times = []
        for form in (theirs, ours):
            began = time.process_time()
            form()
            times.append(time.process_time() - began)
        found.append(times[0] / times[1])
    low, middle, high = statistics.quantiles(found[3:], n=4)  # the first are to warm up
    return f"{middle:.1f} ({low:.1f} to {high:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(
        f"torch {torch.__version__}, {platform.machine()}, {arguments.threads} threads, "
        f"{arguments.repeats} repeats; PyTorch's time over ours: median (quartiles)"
    )
    for n in (2_000, 10_000, 37_000):
        for k in (4, 10):
            x = torch.randn(128, n)
            found = ratios(
                lambda x=x, k=k: x.topk(k), lambda x=x, k=k: top_k(x, k), arguments.repeats
            )
            print(f"top_k, 128 rows of {n:,}, k = {k}: {found}")
    for shape in ((64, 32, 128), (64, 32, 512), (64, 32, 2048)):
        x = torch.randn(shape, requires_grad=True)

        def both_ways(dropout: nn.Module, x: torch.Tensor = x) -> Callable[[], object]:
            return lambda: dropout(x).sum().backward()

        found = ratios(both_ways(nn.Dropout(0.1)), both_ways(ByteDropout(0.1)), arguments.repeats)
        print(f"dropout, {' x '.join(map(str, shape))}, forward and backward: {found}")


if __name__ == "__main__":
    main()
