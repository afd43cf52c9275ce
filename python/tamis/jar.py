"""The extension jar: its location in this installation, and its API in a JVM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


def shim_in(jvm: Any) -> Any | None:
    """Return the object io.tamis.Tamis of a JVM of PySpark; None if it has not loaded the jar."""
    from py4j.java_gateway import JavaClass

    # The whole name in one request: for each part of a name, the JVM would search all jars.
    shim = getattr(jvm, "io.tamis.Tamis")
    return shim if isinstance(shim, JavaClass) else None  # a JavaPackage is not a class
