"""Rows of ids in flat arrays on the disk, mapped into memory: only what is touched is read."""

import json
import logging
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

from annotated_transformer.data.cache import cache_root, one_at_a_time
from annotated_transformer.data.download import sha256_of
from annotated_transformer.errors import WorkError

logger = logging.getLogger(__name__)

FORMAT = 1  # of the files below; another format has other names
ABOUT = "about.json"  # written last: where it is, the arrays are whole
ARRAYS = ("source", "source_offsets", "target", "target_offsets", "indices")


@dataclass(frozen=True)
class TokenRows(Sequence[list[int]]):
    """Rows of unequal length, one after the other in one array.

    Attributes:
        tokens: (all tokens,) ids.
        offsets: (rows + 1,) where each row begins, and where the last ends.
    """

    tokens: NDArray[Any]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> list[int]: ...

    @overload
    def __getitem__(self, index: slice) -> list[list[int]]: ...

    def __getitem__(self, index: int | slice) -> list[int] | list[list[int]]:
        wanted = range(len(self))[index]
        if isinstance(wanted, int):
            row: list[int] = self.tokens[self.offsets[wanted] : self.offsets[wanted + 1]].tolist()
            return row
        return [self[row] for row in wanted]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(rows,) the number of ids in each row."""
        return np.diff(self.offsets)


def lengths_of(rows: Sequence[list[int]], indices: Sequence[int]) -> list[int]:
    """How many ids these rows have; of mapped rows none of the ids is read."""
    if isinstance(rows, TokenRows):
        first = np.asarray(indices, dtype=np.int64)
        lengths: list[int] = (rows.offsets[first + 1] - rows.offsets[first]).tolist()
        return lengths
    return [len(rows[index]) for index in indices]


class ArrayWriter:
    """A .npy file of one flat array that grows at its end; the memory it takes does not."""

    def __init__(self, path: Path, dtype: DTypeLike) -> None:
        self.dtype = np.dtype(dtype)
        self.length = 0
        self._file = path.open("wb")
        self._write_header()

    def append(self, values: Sequence[int]) -> None:
        """Write these values behind those there are."""
        self._file.write(np.asarray(values, dtype=self.dtype).tobytes())
        self.length += len(values)

    def _write_header(self) -> None:
        """NumPy pads the header so that a longer length still fits in the same place."""
        header = {
            "descr": npy.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": (self.length,),
        }
        npy.write_array_header_1_0(self._file, header)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Write the length that was reached into the header."""
        self._file.seek(0)
        self._write_header()
        self._file.close()


class RowsWriter:
    """The two arrays of `TokenRows`, growing."""

    def __init__(self, folder: Path, name: str, dtype: DTypeLike) -> None:
        self._tokens = ArrayWriter(folder / f"{name}.npy", dtype)
        self._offsets = ArrayWriter(folder / f"{name}_offsets.npy", np.int64)
        self._offsets.append([0])

    def append(self, rows: list[list[int]]) -> None:
        """Write these rows behind those there are."""
        ends = self._tokens.length + np.cumsum([len(row) for row in rows], dtype=np.int64)
        self._offsets.append(ends.tolist())
        self._tokens.append(list(chain.from_iterable(rows)))

    def close(self) -> None:
        """Finish both files."""
        self._tokens.close()
        self._offsets.close()


@dataclass(frozen=True)
class EncodedChunk:
    """Some pairs as ids, and their places in the split."""

    source: list[list[int]]
    target: list[list[int]]
    indices: list[int]


StoredPairs = tuple[TokenRows, TokenRows, NDArray[Any]]


def stored_pairs(key: str, chunks: Iterator[EncodedChunk], dtype: DTypeLike) -> StoredPairs:
    """The pairs kept in the cache under `key`; they are put there first if they are not.

    Args:
        key: determines the pairs.
        chunks: the pairs; asked for only if the cache does not have them.
        dtype: an unsigned integer that holds every id.

    Returns:
        Source, target, and the place of each pair in its split.

    Raises:
        WorkError: the cache does not take the files.
    """
    folder = cache_root() / f"encoded-{FORMAT}" / key
    with one_at_a_time(folder, "encoding the same corpus"):
        if not is_whole(folder):
            write_pairs(folder, chunks, dtype)
            logger.warning(
                "the encoded corpus is kept in %s (%d MB), for this and later runs; it may be "
                "deleted at any time",
                folder,
                sum(path.stat().st_size for path in folder.iterdir()) // 1_000_000,
            )
    arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in ARRAYS}
    return (
        TokenRows(arrays["source"], arrays["source_offsets"]),
        TokenRows(arrays["target"], arrays["target_offsets"]),
        arrays["indices"],
    )


def is_whole(folder: Path) -> bool:
    """Whether every array is there with the bytes that were written."""
    try:
        sums = json.loads((folder / ABOUT).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    damaged = [
        name
        for name in ARRAYS
        if not (folder / f"{name}.npy").is_file()
        or sha256_of(folder / f"{name}.npy") != sums.get(name)
    ]
    if damaged:
        logger.warning("%s of %s is damaged; encoding again", ", ".join(damaged), folder)
    return not damaged


def write_pairs(folder: Path, chunks: Iterator[EncodedChunk], dtype: DTypeLike) -> None:
    """Write the arrays, then their checksums. Raises WorkError if the disk does not take them."""
    part = folder / "part"
    shutil.rmtree(part, ignore_errors=True)  # what a process that was killed had begun
    try:
        part.mkdir()
        write_arrays(part, chunks, dtype)
        for name in ARRAYS:
            (part / f"{name}.npy").replace(folder / f"{name}.npy")
        sums = {name: sha256_of(folder / f"{name}.npy") for name in ARRAYS}
        (part / ABOUT).write_text(json.dumps(sums), "utf-8")
        (part / ABOUT).replace(folder / ABOUT)
        part.rmdir()
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise WorkError(
            f"the encoded corpus cannot be written to {folder}: {error.strerror or error}; make "
            f"room, or let the cache lie elsewhere (XDG_CACHE_HOME)"
        ) from error


def write_arrays(folder: Path, chunks: Iterator[EncodedChunk], dtype: DTypeLike) -> None:
    """Append chunk after chunk to the five arrays."""
    with (
        closing(RowsWriter(folder, "source", dtype)) as source,
        closing(RowsWriter(folder, "target", dtype)) as target,
        closing(ArrayWriter(folder / "indices.npy", np.int64)) as indices,
    ):
        for chunk in chunks:
            source.append(chunk.source)
            target.append(chunk.target)
            indices.append(chunk.indices)
