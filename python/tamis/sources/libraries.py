"""The packages that read the metadata of tables. They are optional."""

from __future__ import annotations

import importlib
from typing import Any

from tamis.sources.errors import SourceError

__all__ = ["library"]


def library(module: str, table: str, kind: str, extra: str) -> Any:
    """Return a module of an optional package.

    Args:
        module: The module.
        table: The table as the user has named it.
        kind: What needs the package, such as "a Delta table".
        extra: The extra of tamis that installs it.

    Raises:
        SourceError: The package is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        package = module.partition(".")[0]
        raise SourceError(
            f"{table} is {kind}, which needs the package {package} ({problem}): "
            f"pip install 'tamis[{extra}]'"
        ) from problem
