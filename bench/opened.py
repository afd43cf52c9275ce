"""The files that are really opened, as reported by the Linux kernel (inotify).

Plans and metrics show the files of a scan, not the opened ones: LIMIT stops early, run-time filters
arrive late, and sources count in different ways. The kernel reports all of them in the same way.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Self

_OPENED = 0x20  # IN_OPEN
_OVERFLOWED = 0x4000  # IN_Q_OVERFLOW
_EVENT = struct.Struct("iIII")  # descriptor of the watch, kind, cookie, length of the name


class Opened:
    """A context. After it, `files` are the Parquet files in the directories that were opened in it.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("a.parquet", "b.parquet"):
    ...     _ = (folder / name).write_text("")
    >>> with Opened([folder]) as opened:
    ...     _ = (folder / "a.parquet").read_text()
    >>> [file.name for file in opened.files]
    ['a.parquet']
    """

    def __init__(self, directories: Iterable[Path]) -> None:
        self.files: set[Path] = set()
        self._directories = [
            Path(folder) for top in directories for folder, _, _ in os.walk(top.resolve())
        ]

    def __enter__(self) -> Self:
        libc = ctypes.CDLL(None, use_errno=True)
        self._events = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._events < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        self._watched = {
            libc.inotify_add_watch(self._events, os.fsencode(folder), _OPENED): folder
            for folder in self._directories
        }
        if -1 in self._watched:
            raise OSError(ctypes.get_errno(), f"inotify: {self._watched[-1]}")
        return self

    def __exit__(self, *_: object) -> None:
        try:
            while True:
                self._take(os.read(self._events, 1 << 16))
        except BlockingIOError:  # no more events
            pass
        finally:
            os.close(self._events)

    def _take(self, events: bytes) -> None:
        start = 0
        while start < len(events):
            watch, kind, _, length = _EVENT.unpack_from(events, start)
            start += _EVENT.size + length
            if kind & _OVERFLOWED:
                raise OSError("inotify: more events than the kernel keeps")
            name = os.fsdecode(events[start - length : start].rstrip(b"\0"))
            if name.endswith(".parquet") and not name.startswith((".", "_")):
                self.files.add(self._watched[watch] / name)
