"""Removal of old generations from the local cache, in a thread, at most every five minutes.

Looking at every file of a full cache takes seconds, so no query waits for it. The time of the last
sweep is that of the file `swept` beside the indexes of the cache, for all processes together.
"""

from __future__ import annotations

import os
import secrets
import shutil
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["sweep", "sweep_when_due"]

#: Seconds between two sweeps.
_INTERVAL: Final = 300.0
#: Seconds since it was last opened after which a generation is removed if its index has others.
#: Each append makes one, which holds the statistics of all files.
_IDLE: Final = 300.0
#: Bytes of all generations of all indexes.
_LIMIT: Final = 20 << 30


def sweep_when_due(current: Path) -> None:
    """Start a sweep unless there was one recently. Returns immediately.

    Args:
        current: The directory of the generation that is in use:
            `<cache>/<version>/<index>/<generation>`.

    Raises:
        OSError: The directory cannot be written.
    """
    indexes = current.parent.parent
    mark = indexes / "swept"
    with suppress(FileNotFoundError):
        if abs(time.time() - mark.stat().st_mtime) < _INTERVAL:
            return
    mark.touch()
    threading.Thread(
        target=sweep, args=(indexes, current), name="tamis cache sweep", daemon=True
    ).start()


def sweep(indexes: Path, current: Path) -> None:
    """Remove idle generations of indexes that have others, then the oldest ones beyond the limit.

    The current generation stays. A process that has a removed file mapped keeps its pages, and one
    that does not find a file makes it again.
    """
    now = time.time()
    ages: dict[Path, float] = {}  # seconds since a generation was last opened
    for index in _directories(indexes):
        of_index = {}
        for generation in _directories(index):
            with suppress(OSError):
                of_index[generation] = now - generation.stat().st_mtime
        latest = min(of_index, key=lambda each: of_index[each], default=None)
        for generation, age in of_index.items():
            if age > _IDLE and generation not in (latest, current):
                _remove(generation)
            else:
                ages[generation] = age
    sizes = {generation: _size(generation) for generation in ages}
    total = sum(sizes.values())
    for generation in sorted(ages, key=lambda each: ages[each], reverse=True):
        if total <= _LIMIT:
            return
        if generation != current:
            _remove(generation)
            total -= sizes[generation]


def _directories(parent: Path) -> Iterable[Path]:
    """Return the directories in another; none if it cannot be read."""
    with suppress(OSError), os.scandir(parent) as entries:
        return [Path(entry) for entry in entries if entry.is_dir(follow_symlinks=False)]
    return []


def _remove(generation: Path) -> None:
    """Remove a generation. It gets another name first, so that no process opens a part of it."""
    gone = generation.with_name(f".{generation.name}.{secrets.token_hex(4)}")
    with suppress(OSError):
        generation.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)
        generation.parent.rmdir()  # fails if the index has other generations


def _size(folder: Path) -> int:
    """Return the bytes of the files below a folder. Files that vanish meanwhile do not count."""
    total = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(directory, name)).st_size
    return total
