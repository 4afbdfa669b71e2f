"""Two cuts of the target with both bounds open, from which the mistakes are made."""

from torch import Tensor

Tensors = tuple[Tensor, Tensor]


def cut_both(
    tgt: Tensor,
    *,
    given: tuple[int, int | None] = (0, -1),
    wanted: tuple[int, int | None] = (1, None),
    dim: int = 1,
) -> Tensors:
    def part(bounds: tuple[int, int | None]) -> Tensor:
        return tgt[:, slice(*bounds)] if dim == 1 else tgt[slice(*bounds)]

    return part(given), part(wanted)


LOST = "Only {} come back. Two tensors are asked for: `return decoder_input, labels`."
