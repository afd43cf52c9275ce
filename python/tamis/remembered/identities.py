"""Names of files: 16 bytes that depend on path, size and modification time, and on nothing else.

Two files with the same name are the same file with the same content, as far as an index can tell
them apart (see `indexing.read.freshness`). The names are digests, so that notes do not repeat long
paths, and can be compared without knowing the table.
"""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.indexing.read.freshness import UNCHANGING, has_time
from tamis.indexing.read.snapshot import FileKeys, canonical

__all__ = ["WIDTH", "identities_of", "settled"]

#: Bytes of a name.
WIDTH: Final = 16
#: The type of a name.
_TYPE: Final = pa.binary(WIDTH)
#: Milliseconds after which a file with another content has another modification time: clocks of
#: file systems advance in steps of a few milliseconds, and some storage has whole seconds.
_STEP: Final = 100
_SECONDS: Final = 3_000


def identities_of(files: FileKeys) -> pa.Array:
    """Return the name of each file; null if its time or size says nothing about its content."""
    known = has_time(files)
    directories = [canonical(each) for each in files.directories]
    columns = (files.group, files.name, files.size, files.mtime)
    rows = zip(*(each.to_pylist() for each in columns), known.tolist(), strict=True)
    names = [
        _name(f"{directories[group]}/{name}", size, mtime) if is_known and size >= 0 else None
        for group, name, size, mtime, is_known in rows
    ]
    return pa.array(names, _TYPE)


def _name(uri: str, size: int, mtime: int) -> bytes:
    # Neither number contains a line feed, so no two files have the same text.
    text = f"{size}\n{mtime}\n{uri}".encode()
    return hashlib.blake2b(text, digest_size=WIDTH).digest()


def settled(files: FileKeys, started: int) -> npt.NDArray[np.bool_]:
    """Return whether each file would look changed if it had been replaced after it was read.

    A file that is written twice within one step of the clock keeps its name. So what was read at
    `started` may differ from what the name stands for, unless that step was over by then.

    Args:
        files: The files as they were listed.
        started: Milliseconds since 1970 before the first of them was read.
    """
    times = files.mtime.to_numpy()
    least = np.where(times % 1000 == 0, _SECONDS, _STEP)
    old_enough: npt.NDArray[np.bool_] = (times + least <= started) | (times == UNCHANGING)
    return old_enough
