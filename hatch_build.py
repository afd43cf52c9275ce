"""Build hook: the wheel carries the Spark extension as `tamis/jars/tamis.jar`.

The jar is built by ./sbt where it is missing or older than its sources. That needs Java 17 and a
Python with pyspark: the one that runs this build, to which `dependencies` adds pyspark.
With TAMIS_JAR=later in the environment nothing is compiled; `make setup` does so, and then makes
the jar itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

JAR = Path("python/tamis/jars/tamis.jar")
SOURCES = (
    "build.sbt",
    "project",
    "jvm-shim/src",
    "python/tamis/conf.json",
    "python/tamis/_version.py",
)


class ExtensionJarHook(BuildHookInterface[Any]):
    def dependencies(self) -> list[str]:
        """Asked before the build: pyspark, 450 MB, only where something has to be compiled."""
        if not self._needs_jar():
            return []
        pyproject = tomllib.loads((Path(self.root) / "pyproject.toml").read_text("utf-8"))
        return [r for r in pyproject["dependency-groups"]["build"] if r.startswith("pyspark")]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the jar where needed. Raises CalledProcessError when sbt fails."""
        if not self._needs_jar():
            return
        subprocess.run(
            ["bash", "sbt", "shim/package"],
            cwd=self.root,
            check=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHON": sys.executable},
        )

    def _needs_jar(self) -> bool:
        if self.target_name == "sdist":  # sources only: whoever builds from it compiles
            return False
        return os.environ.get("TAMIS_JAR") != "later" and not is_current(Path(self.root))


def is_current(root: Path) -> bool:
    """Whether the jar exists and is no older than anything that it is made of."""
    jar = root / JAR
    if not jar.is_file():
        return False
    files = (f for s in SOURCES for f in [root / s, *(root / s).rglob("*")])
    newest = max(
        f.stat().st_mtime
        for f in files
        if f.is_file() and "target" not in f.relative_to(root).parts
    )
    return jar.stat().st_mtime >= newest
