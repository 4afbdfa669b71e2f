"""What the stand-in lacks, and what PyTorch itself would complain about: two kinds of error."""


class NotInThisPage(BaseException):
    """Something that PyTorch has and this stand-in has not.

    It is no `Exception`, so that an answer with `except Exception` does not take it for an error of
    its own and go another way than it goes with PyTorch; and no `AttributeError`, so that `hasattr`
    does not say that PyTorch has no such thing. It must reach whoever shows the result.
    """

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} is not in this page, which has only a small imitation of PyTorch. "
            "Use the notebook for it."
        )
        self.what = what


def torch_error(kind: type[Exception], sentence: str) -> Exception:
    """An exception that PyTorch would raise too, to be raised.

    Every other exception that comes out of an operation is a fault of the stand-in, and becomes
    `NotInThisPage`: see `operations`.
    """
    error = kind(sentence)
    error.is_torchs = True  # type: ignore[attr-defined]
    return error


within_vmap = [0]  # how many `vmap` are at work


def no_number_within_vmap() -> None:
    """There PyTorch knows no single number of a tensor, and raises an error of many kinds."""
    if within_vmap[0]:
        raise NotInThisPage("a tensor's number, truth or place within vmap()")


def is_torchs(error: BaseException) -> bool:
    """Was this exception made by `torch_error`?"""
    return getattr(error, "is_torchs", False)


def must_be_tensor(function: str, argument: str, position: int, got: object) -> Exception:
    """What PyTorch says to `torch.sqrt(2.0)`."""
    kind = f"{type(got).__module__}.{type(got).__name__}".removeprefix("builtins.")
    return torch_error(
        TypeError,
        f"{function}(): argument '{argument}' (position {position}) must be Tensor, not {kind}",
    )


def cannot_broadcast(*shapes: tuple[int, ...]) -> Exception | None:
    """What PyTorch says to shapes that do not fit each other; None where they do."""
    so_far: tuple[int, ...] = shapes[0]
    for shape in shapes[1:]:
        rank = max(len(so_far), len(shape))
        a, b = ((1,) * (rank - len(one)) + tuple(one) for one in (so_far, shape))
        for axis in reversed(range(rank)):
            if a[axis] != b[axis] and 1 not in (a[axis], b[axis]):
                return torch_error(
                    RuntimeError,
                    f"The size of tensor a ({a[axis]}) must match the size of tensor b "
                    f"({b[axis]}) at non-singleton dimension {axis}",
                )
        so_far = tuple(m if n == 1 else n for m, n in zip(a, b, strict=True))
    return None


def axis_of(dim: object, rank: int) -> int:
    """An axis counted from the front, or PyTorch's complaint."""
    index = getattr(dim, "__index__", None)
    if index is None or isinstance(dim, bool):
        raise torch_error(TypeError, f"argument 'dim' must be int, not {type(dim).__name__}")
    number: int = index()
    width = max(rank, 1)
    if not -width <= number < width:
        raise torch_error(
            IndexError,
            f"Dimension out of range (expected to be in range of [{-width}, {width - 1}], "
            f"but got {number})",
        )
    return number % width
