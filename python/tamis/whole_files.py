"""Files that appear completely or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = ["UNFINISHED", "writing_whole"]

#: The suffix of files that are being written, or were when their process ended.
UNFINISHED: Final = ".part"


@contextmanager
def writing_whole(path: Path) -> Iterator[Path]:
    """Provide a file beside `path` to write to, which becomes `path` in one step at the end.

    If the block fails, `path` stays as it is, and nothing is left beside it.

    Raises:
        OSError: The file cannot be moved.
    """
    unfinished = path.with_name(f"{path.stem}-{secrets.token_hex(6)}{UNFINISHED}")
    try:
        yield unfinished
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
