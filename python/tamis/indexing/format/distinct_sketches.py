"""Sketches of the values of each file, to estimate how many distinct values many files have.

A sketch is a HyperLogLog sketch of Apache DataSketches with 2 ** LG_K registers. Spark fills it
(`hll_sketch_agg`) with the hashes of all values that are not NULL. Equal values have equal hashes:
Spark's `xxhash64` treats -0.0 as 0.0, and all NaNs as one value. The sketch of several files is the
union of their sketches. Up to about 200 values are counted exactly; beyond that, the relative
standard error is 1.04 / sqrt(2 ** LG_K) = 2.3 %.

https://datasketches.apache.org/docs/HLL/HllSketches.html
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tamis.indexing.problems import IndexUnusable

__all__ = [
    "STANDARD_ERROR",
    "UNKNOWN",
    "Sketches",
    "compact",
    "estimate",
    "joined",
    "missing_library",
    "sketch_sql",
    "union_of",
]

Longs = npt.NDArray[np.int64]

#: The size of a file without a sketch. A file without values has a sketch of 0 bytes.
UNKNOWN: Final = -1
LG_K: Final = 11
#: The relative standard error of an estimate.
STANDARD_ERROR: Final = 1.04 / 2 ** (LG_K / 2)


def sketch_sql(value: str) -> str:
    """Return SQL of the sketch of a value over the rows of a group, as BINARY."""
    return f"hll_sketch_agg(IF({value} IS NULL, NULL, xxhash64({value})), {LG_K})"


def compact(sketch: bytes) -> bytes:
    """Return a sketch of Spark in its shortest form: at most about 1,100 bytes.

    A sketch without values becomes an empty byte string.
    """
    return union_of([sketch])


def union_of(sketches: Iterable[bytes]) -> bytes:
    """Return the sketch of the values of all sketches, in its shortest form.

    Raises:
        IndexUnusable: The package `datasketches` is not installed.
        ValueError: A sketch is damaged.
    """
    library, union = _union(sketches)
    if union.is_empty():
        return b""
    content: bytes = union.get_result(library.HLL_4).serialize_compact()
    return content


def estimate(sketches: Iterable[bytes]) -> int:
    """Return the estimated number of distinct values in all sketches. Raises as `union_of`."""
    _, union = _union(sketches)
    return round(float(union.get_estimate()))


def _union(sketches: Iterable[bytes]) -> tuple[Any, Any]:
    problem = missing_library()
    if problem is not None:
        raise problem
    library: Any = importlib.import_module("datasketches")
    union = library.hll_union(LG_K)
    for sketch in sketches:
        if not sketch:
            continue
        try:
            union.update(library.hll_sketch.deserialize(sketch))
        except Exception as problem:  # such as std::invalid_argument
            raise ValueError(f"a sketch is damaged ({problem})") from problem
    return library, union


def missing_library() -> IndexUnusable | None:
    """Return the problem that the package `datasketches` cannot be imported; None if it can."""
    try:
        importlib.import_module("datasketches")
    except ImportError as problem:
        return IndexUnusable(
            "index.library_missing",
            f"numbers of distinct values (ndv) need the package datasketches ({problem})",
            "pip install 'tamis[ndv]'",
        )
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Sketches:
    """The sketches of files, in order.

    Attributes:
        sizes: Bytes of the sketch of each file, or UNKNOWN.
        content: The concatenated sketches.
        lengths: The sum of the lengths of all values of each file, -1 if unknown: characters of
            strings, bytes of binary. None for other types.
        longest: The length of the longest value of each file, -1 if unknown or without a value.
    """

    sizes: Longs
    content: bytes
    lengths: Longs | None = None
    longest: Longs | None = None

    def __len__(self) -> int:
        return len(self.sizes)

    def each(self) -> Iterator[bytes | None]:
        """Yield the sketch of each file; None: unknown."""
        filled = np.maximum(self.sizes, 0)
        ends = np.cumsum(filled)
        for start, stop, size in zip(
            (ends - filled).tolist(), ends.tolist(), self.sizes.tolist(), strict=True
        ):
            yield None if size == UNKNOWN else self.content[start:stop]

    def take(self, ordinals: Longs) -> Sketches:
        """Return the sketches of the files at these ordinals; -1: a file without a sketch."""
        every = [*self.each(), None]
        return joined(
            [every[k] for k in ordinals.tolist()],
            None if self.lengths is None else _taken(self.lengths, ordinals),
            None if self.longest is None else _taken(self.longest, ordinals),
        )


def joined(
    sketches: Sequence[bytes | None], lengths: Longs | None = None, longest: Longs | None = None
) -> Sketches:
    """Concatenate the sketches of files, in order. None: the file has no sketch."""
    sizes = [UNKNOWN if each is None else len(each) for each in sketches]
    content = b"".join(each for each in sketches if each is not None)
    return Sketches(np.array(sizes, np.int64), content, lengths, longest)


def _taken(numbers: Longs, ordinals: Longs) -> Longs:
    return np.append(numbers, UNKNOWN)[ordinals]
