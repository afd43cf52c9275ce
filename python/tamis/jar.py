"""Where the extension jar of this installation lies."""

from __future__ import annotations

from pathlib import Path

from tamis.errors import TamisError


def path() -> Path:
    """The jar for `--jars`. Raises TamisError, with what to do, when it was not built."""
    jar = Path(__file__).resolve().parent / "jars" / "tamis.jar"
    if not jar.is_file():
        raise TamisError(
            f"no jar at {jar}: in a clone run `make setup` (or `./sbt shim/package`), "
            "elsewhere install the wheel again"
        )
    return jar
