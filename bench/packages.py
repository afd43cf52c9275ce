"""Jars from Maven Central, which Spark's Ivy client downloads once."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = ["downloaded"]

_BUILD = Path(__file__).resolve().parents[1] / "build"


def downloaded(name: str, packages: Sequence[str], excluded: Iterable[str]) -> list[Path]:
    """Return the jars of packages and of their dependencies.

    Other processes wait: Ivy's cache serves one download at a time.

    Args:
        name: The folder below `build/` in which the downloads are kept.
        packages: Maven coordinates.
        excluded: Dependencies to leave out, as group:artifact; an artifact may be `*`.

    Raises:
        RuntimeError: They cannot be downloaded.
    """
    cache = _BUILD / name
    cache.mkdir(parents=True, exist_ok=True)
    jars, marker = cache / "jars", cache / "packages.txt"
    with (cache / "download.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (marker.exists() and marker.read_text().split() == [*packages]):
            shutil.rmtree(jars, ignore_errors=True)
            _download(cache, packages, excluded)
            marker.write_text("\n".join(packages))
    return sorted(jars.glob("*.jar"))


def _download(
    cache: Path, packages: Sequence[str], excluded: Iterable[str], attempts: int = 3
) -> None:
    """Download the packages by a spark-submit that runs nothing else.

    Raises:
        RuntimeError: Every attempt failed. The message ends with the last output of Ivy.
    """
    import pyspark

    command = [
        f"{pyspark.__path__[0]}/bin/spark-submit",
        *("--packages", ",".join(packages)),
        *("--exclude-packages", ",".join(excluded)),
        *("--conf", f"spark.jars.ivy={cache}"),
        *("--conf", f"spark.pyspark.python={sys.executable}"),
    ]
    nothing = cache / "nothing.py"
    nothing.write_text("")
    for _ in range(attempts):
        done = subprocess.run(
            [*command, str(nothing)], capture_output=True, text=True, timeout=900, check=False
        )
        if done.returncode == 0:
            return
    raise RuntimeError(
        f"{', '.join(packages)} cannot be downloaded ({attempts} attempts):\n{done.stderr[-2000:]}"
    )
