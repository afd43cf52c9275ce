"""Build hook: the wheel contains the Spark extension as `tamis/jars/tamis.jar`.

./sbt builds the jar if it is missing or older than its sources. That needs Java 17 and a Python
with pyspark: the one that runs this build, to which `dependencies` adds pyspark. With
TAMIS_JAR=later in the environment nothing is compiled; `make setup` uses this and then builds the
jar itself.
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
    "python/tamis/reasons.json",
    "python/tamis/_version.py",
)


class ExtensionJarHook(BuildHookInterface[Any]):
    def dependencies(self) -> list[str]:
        """Return pyspark (450 MB) only if the jar has to be compiled. Called before the build."""
        if not self._needs_jar():
            return []
        pyproject = tomllib.loads((Path(self.root) / "pyproject.toml").read_text("utf-8"))
        return [r for r in pyproject["dependency-groups"]["build"] if r.startswith("pyspark")]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the jar if necessary. Raise CalledProcessError if sbt fails."""
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
        if self.target_name == "sdist":  # sources only: a build from them compiles the jar
            return False
        return os.environ.get("TAMIS_JAR") != "later" and not is_current(Path(self.root))


def is_current(root: Path) -> bool:
    """Return whether the jar exists and is at least as new as all of its sources."""
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
