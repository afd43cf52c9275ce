"""Checks what is installed: Python, packages, pyspark, Java, the jar. Does not start Spark."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from importlib import metadata, resources
from importlib.util import find_spec
from pathlib import Path

from tamis import jar
from tamis._version import __version__
from tamis.doctor.finding import Finding, failed, ok
from tamis.errors import TamisError
from tamis.launch import FIRST_SPARK, INSTALL_SPARK, NEXT_SPARK, is_supported
from tamis.wire.messages import VERSION

__all__ = ["FIRST_SPARK", "NEXT_SPARK", "jar_file", "java", "packages", "pyspark", "python"]

_OLDEST_PYTHON = (3, 11)
_OLDEST_JAVA = 17
_PACKAGES = (
    "cachetools",
    "msgpack",
    "msgspec",
    "numpy",
    "platformdirs",
    "py4j",
    "pyarrow",
    "rich",
    "typer",
)


def python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    text = f"Python {version} ({sys.executable}), tamis {__version__}"
    if sys.version_info[:2] < _OLDEST_PYTHON:
        return failed("python", text, "install tamis in Python 3.11 or newer")
    return ok("python", text)


def packages() -> Finding:
    """Check that the libraries that tamis needs are installed."""
    versions, missing = [], []
    for name in _PACKAGES:
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        text = f"not installed: {', '.join(missing)}"
        return failed("packages", text, f"{sys.executable} -m pip install {' '.join(missing)}")
    return ok("packages", ", ".join(versions))


def pyspark() -> Finding:
    """Check that the jar works with the pyspark of this Python."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        return failed("pyspark", "pyspark is not installed in this Python", INSTALL_SPARK)
    home = Path(spec.origin).parent
    version = _pyspark_version(home)
    text = f"pyspark {version} ({home})"
    if not is_supported(version):
        return failed("pyspark", f"{text}: tamis needs Spark 4.0 to 4.3", INSTALL_SPARK)
    scala = [each.stem.rsplit("-", 1)[1] for each in home.glob("jars/scala-library-*.jar")]
    if not scala:
        text += ": it has no jars, so it can only be a client of Spark Connect"
        return failed("pyspark", text, INSTALL_SPARK)
    if not scala[0].startswith("2.13."):
        return failed("pyspark", f"{text} is built for Scala {scala[0]}, not 2.13", INSTALL_SPARK)
    return ok("pyspark", f"{text}, Scala {scala[0]}")


def _pyspark_version(home: Path) -> str:
    """Return the version of the importable package, which may be in SPARK_HOME, not installed."""
    try:
        text = (home / "version.py").read_text("utf-8")
    except OSError:
        return "of an unknown version"
    match = re.search(r'__version__(?:\s*:\s*\w+)?\s*=\s*["\']([^"\']+)["\']', text)
    return match.group(1) if match else "of an unknown version"


def java(environment: Mapping[str, str] = os.environ) -> Finding:
    """Check the Java that Spark would start: that of JAVA_HOME, or the first on the PATH."""
    home = environment.get("JAVA_HOME")
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    command = str(Path(home, "bin", "java")) if home else on_path
    where = f"JAVA_HOME is {home}" if home else "JAVA_HOME is not set"
    fix = "install Java 17 or newer, and set JAVA_HOME to its directory"
    if command is None:
        return failed("java", f"there is no java on the PATH, and {where}", fix)
    try:
        done = subprocess.run(
            [command, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return failed("java", f"{command} cannot be run ({error}); {where}", fix)
    match = re.search(r'version "(?:1\.)?(\d+)[^"]*"', done.stderr + done.stdout)
    if match is None:
        return failed("java", f"{command} -version prints no version; {where}", fix)
    version = match.group(0).removeprefix("version ").strip('"')
    if int(match.group(1)) < _OLDEST_JAVA:
        return failed("java", f"Java {version} ({command}) is older than 17; {where}", fix)
    return ok("java", f"Java {version} ({command})")


def jar_file() -> Finding:
    """Check that the jar of this package exists and comes from the same build."""
    again = "in a clone run `make setup`, elsewhere reinstall the wheel"
    try:
        path = jar.path()
    except TamisError as error:
        return failed("jar", str(error), again)
    try:
        with zipfile.ZipFile(path) as archive:
            lines = archive.read("io/tamis/version.properties").decode().splitlines()
            same = {
                name: json.loads(archive.read(f"io/tamis/{name}"))
                == json.loads(resources.files("tamis").joinpath(name).read_text("utf-8"))
                for name in ("conf.json", "reasons.json")
            }
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        return failed("jar", f"{path} is not a tamis jar: {error}", again)
    properties = dict(line.split("=", 1) for line in lines if "=" in line)
    wire = properties.get("wire")
    text = f"{path}: tamis {properties.get('version')}, version {wire} of the wire protocol"
    if wire != str(VERSION):
        return failed("jar", f"{text}, but this package uses version {VERSION}", again)
    if properties.get("version") != __version__:
        return failed("jar", f"{text}, but this package is tamis {__version__}", again)
    others = [name for name, is_same in same.items() if not is_same]
    if others:
        verb = "is" if len(others) == 1 else "are"
        names = " and ".join(others)
        return failed("jar", f"{text}; its {names} {verb} from another build", again)
    return ok("jar", text)
