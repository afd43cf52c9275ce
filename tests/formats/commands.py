"""Commands that compare tamis with plain Spark, in a process of their own.

Delta and Iceberg must be loaded when a session starts, and these commands change its confs, so they
cannot use the session of other tests.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.launch.processes import run, shell

__all__ = ["checked"]


def checked(repository: Path, folder: Path, script: str, *arguments: str) -> str:
    """Run a script, which fails if it finds a difference. Return its output.

    Args:
        repository: The root of the repository.
        folder: The working directory, for temporary files.
        script: The path of the script in the repository.
        arguments: The arguments of the script.
    """
    environment = shell(folder, TMPDIR=str(folder), XDG_DATA_HOME=str(folder / "data"))
    return run([sys.executable, str(repository / script), *arguments], folder, environment)
