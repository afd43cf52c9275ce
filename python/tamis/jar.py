"""The location of the extension jar of this installation."""

from __future__ import annotations

from pathlib import Path

from tamis.errors import TamisError


def path() -> Path:
    """Return the path of the jar for `--jars`.

    Raises:
        TamisError: The jar was not built. The message says what to do.
    """
    jar = Path(__file__).resolve().parent / "jars" / "tamis.jar"
    if not jar.is_file():
        raise TamisError(
            f"no jar at {jar}: in a clone run `make setup` (or `./sbt shim/package`), "
            "elsewhere install the wheel again"
        )
    return jar
