"""Returning memory to the system after rare, large allocations."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pyarrow as pa

__all__ = ["release_unused_memory"]


def _trimmer() -> Callable[[int], Any] | None:
    """Return glibc's malloc_trim; None if the C library does not have it."""
    try:
        trim: Callable[[int], Any] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    return trim


_TRIM = _trimmer()


def release_unused_memory() -> None:
    """Return unused memory to the system; takes about 1 ms.

    The allocators of numpy and pyarrow would keep it, although this process needs as much again
    only when it opens another table of a million files.
    """
    pa.default_memory_pool().release_unused()
    if _TRIM is not None:
        _TRIM(0)
