"""Handing memory back to the system after what is rare and large."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pyarrow as pa

__all__ = ["give_back"]


def _trimmer() -> Callable[[int], Any] | None:
    """glibc's malloc_trim; None where the C library has none."""
    try:
        trim: Callable[[int], Any] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    return trim


_TRIM = _trimmer()


def give_back() -> None:
    """Give the memory that nothing holds any more back to the system; takes about 1 ms.

    The allocators of numpy and pyarrow keep it otherwise, for a process that next needs as much
    when another table of a million files is opened.
    """
    pa.default_memory_pool().release_unused()
    if _TRIM is not None:
        _TRIM(0)
