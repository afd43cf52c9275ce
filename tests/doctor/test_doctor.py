"""`python -m tamis doctor` on a working installation, and on installations broken in one way each.

Each test breaks the environment or the disk of a separate process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tamis
import tamis.conf
from tamis.doctor import installation
from tamis.doctor.settings import check_confs
from tamis.wire.messages import VERSION

pytestmark = pytest.mark.programs

PACKAGE = Path(tamis.__file__).parent
Doctor = Callable[..., "Report"]


class Report:
    """The output of the process."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code = done.returncode
        assert done.stderr == "", done.stderr
        document = json.loads(done.stdout)
        assert document["ok"] == (self.code == 0)
        self.checks: dict[str, dict[str, Any]] = {e["check"]: e for e in document["checks"]}
        assert all(e["fix"] for e in document["checks"] if e["status"] == "failed")

    @property
    def failed(self) -> list[str]:
        return [name for name, each in self.checks.items() if each["status"] == "failed"]


def settings_of(folder: Path) -> Path:
    """Return the directory of spark-defaults.conf, which need not exist."""
    return folder / "settings"


def write_settings(folder: Path, text: str) -> None:
    """Write spark-defaults.conf."""
    settings_of(folder).mkdir()
    (settings_of(folder) / "spark-defaults.conf").write_text(text)


@pytest.fixture
def doctor(tmp_path: Path) -> Doctor:
    """Run the doctor with `--json` in another environment."""

    def run(*arguments: str, python: Path | None = None, **environment: str | None) -> Report:
        settings = str(settings_of(tmp_path))
        changed = {"SPARK_CONF_DIR": settings, "PYSPARK_SUBMIT_ARGS": None} | environment
        full = {**os.environ, **{k: v for k, v in changed.items() if v is not None}}
        for key in [k for k, v in changed.items() if v is None]:
            full.pop(key, None)
        command = [sys.executable, "-m", "tamis", "doctor", "--json", *arguments]
        if python is not None:
            full["PYTHONPATH"] = os.pathsep.join([str(python), full.get("PYTHONPATH", "")])
        return Report(
            subprocess.run(command, capture_output=True, text=True, env=full, timeout=300)
        )

    return run


def copied(folder: Path) -> Path:
    """Copy the package to its own directory, with links to all unchanged files."""
    package = folder / "copy" / "tamis"
    package.mkdir(parents=True)
    for each in PACKAGE.iterdir():
        if each.name not in ("jars", "__pycache__"):
            (package / each.name).symlink_to(each)
    # the jar is searched beside the module file, after links are resolved
    (package / "jar.py").unlink()
    (package / "jar.py").write_text((PACKAGE / "jar.py").read_text())
    return package.parent


def test_working_installation_passes(doctor: Doctor) -> None:
    report = doctor("--no-spark")
    assert (report.code, report.failed) == (0, [])
    assert list(report.checks) == [
        *("python", "packages", "pyspark", "java", "jar", "confs", "sidecar"),
        *("spark", "extension", "prune"),
    ]
    assert report.checks["spark"]["status"] == "skipped"
    assert "answers in" in report.checks["sidecar"]["text"]


def test_text_has_no_markup_without_a_terminal(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tamis", "doctor", "--no-spark"],
        capture_output=True,
        text=True,
        env={**os.environ, "SPARK_CONF_DIR": str(tmp_path), "FORCE_COLOR": ""},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "looking" not in done.stdout
    lines = done.stdout.splitlines()
    assert lines[-1] == "all checks that do not start Spark passed"
    assert lines[0].startswith("ok      python     Python 3.")


@pytest.mark.spark
def test_working_installation_passes_with_spark(doctor: Doctor) -> None:
    report = doctor()
    assert (report.code, report.failed) == (0, []), report.checks
    assert report.checks["spark"]["text"].startswith("Spark 4.")
    assert "Scala 2.13" in report.checks["spark"]["text"]
    assert f"version {VERSION} of the wire protocol" in report.checks["extension"]["text"]
    assert "1 of 4 files read, the same 10 rows" in report.checks["prune"]["text"]


# ---- broken ----


def test_missing_java_is_reported(doctor: Doctor, tmp_path: Path) -> None:
    report = doctor("--no-spark", PATH=str(tmp_path), JAVA_HOME=None)
    assert (report.code, report.failed) == (1, ["java"])
    assert "no java on the PATH" in report.checks["java"]["text"]
    assert "install Java 17" in report.checks["java"]["fix"]


def test_spark_is_not_started_without_java(doctor: Doctor, tmp_path: Path) -> None:
    report = doctor(PATH=str(tmp_path), JAVA_HOME=None)
    assert (report.code, report.failed) == (1, ["java"])
    assert report.checks["prune"]["text"] == "not run: java failed"


def test_missing_java_home_is_reported(doctor: Doctor, tmp_path: Path) -> None:
    report = doctor("--no-spark", JAVA_HOME=str(tmp_path / "nowhere"))
    assert report.failed == ["java"]
    assert "nowhere" in report.checks["java"]["text"]


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ('openjdk version "11.0.20" 2023-07-18', "11.0.20"),
        ('java version "1.8.0_381"', "1.8.0_381"),
    ],
)
def test_old_java_is_reported(doctor: Doctor, tmp_path: Path, says: str, version: str) -> None:
    command = tmp_path / "old" / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    command.chmod(0o755)
    report = doctor("--no-spark", JAVA_HOME=str(tmp_path / "old"))
    assert report.failed == ["java"]
    assert f"Java {version} " in report.checks["java"]["text"]
    assert "older than 17" in report.checks["java"]["text"]


def test_missing_jar_is_reported(doctor: Doctor, tmp_path: Path) -> None:
    report = doctor("--no-spark", python=copied(tmp_path))
    assert report.failed == ["jar"]
    assert "no jar at" in report.checks["jar"]["text"]
    assert "make setup" in report.checks["jar"]["fix"]


def changed_jar(folder: Path, name: str, content: str) -> Path:
    """Copy the package with one file of the jar replaced."""
    root = copied(folder)
    (root / "tamis" / "jars").mkdir()
    with (
        zipfile.ZipFile(PACKAGE / "jars" / "tamis.jar") as jar,
        zipfile.ZipFile(root / "tamis" / "jars" / "tamis.jar", "w") as changed,
    ):
        for each in jar.namelist():
            changed.writestr(each, content if each == name else jar.read(each))
    return root


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        (
            "io/tamis/version.properties",
            f"version={tamis.__version__}\nwire=99\n",
            f"version 99 of the wire protocol, but this package uses version {VERSION}",
        ),
        (
            "io/tamis/version.properties",
            f"version=0.0.1\nwire={VERSION}\n",
            f"tamis 0.0.1, version {VERSION} of the wire protocol, but this package is tamis "
            f"{tamis.__version__}",
        ),
        ("io/tamis/conf.json", "[]", "conf.json is from another build"),
        ("io/tamis/reasons.json", "[]", "reasons.json is from another build"),
    ],
)
def test_jar_of_another_build_is_reported(
    doctor: Doctor, tmp_path: Path, name: str, content: str, says: str
) -> None:
    report = doctor("--no-spark", python=changed_jar(tmp_path, name, content))
    assert report.failed == ["jar"]
    assert says in report.checks["jar"]["text"]


def test_invalid_jar_is_reported(doctor: Doctor, tmp_path: Path) -> None:
    root = copied(tmp_path)
    (root / "tamis" / "jars").mkdir()
    (root / "tamis" / "jars" / "tamis.jar").write_bytes(b"half of a d")
    report = doctor("--no-spark", python=root)
    assert report.failed == ["jar"]
    assert "is not a tamis jar" in report.checks["jar"]["text"]


@pytest.mark.parametrize(
    ("version", "jars", "says"),
    [
        ("3.5.4", ["scala-library-2.12.18.jar"], "tamis needs Spark 4.0 to 4.3"),
        ("4.4.0", ["scala-library-2.13.18.jar"], "tamis needs Spark 4.0 to 4.3"),
        ("4.1.0", [], "can only be a client of Spark Connect"),
        ("4.1.0", ["scala-library-3.3.1.jar"], "built for Scala 3.3.1"),
    ],
)
def test_unsupported_pyspark_is_reported(
    doctor: Doctor, tmp_path: Path, version: str, jars: list[str], says: str
) -> None:
    package = tmp_path / "other" / "pyspark"
    (package / "jars").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "version.py").write_text(f'__version__: str = "{version}"\n')
    for jar in jars:
        (package / "jars" / jar).write_bytes(b"")
    report = doctor("--no-spark", python=tmp_path / "other")
    assert report.failed == ["pyspark"]
    assert f"pyspark {version}" in report.checks["pyspark"]["text"]
    assert says in report.checks["pyspark"]["text"]


def test_supported_versions_are_those_of_the_package(repository: Path) -> None:
    text = (repository / "pyproject.toml").read_text("utf-8")
    first, following = (
        ".".join(map(str, each)) for each in (installation.FIRST_SPARK, installation.NEXT_SPARK)
    )
    assert f'spark = ["pyspark>={first},<{following}"]' in text
    needed = text[text.index("\ndependencies = [") : text.index("[project.optional")]
    assert all(f'"{name}>=' in needed for name in installation._PACKAGES)
    assert needed.count('">=') + needed.count(">=") == len(installation._PACKAGES)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("spark.tamis.mode  on", "spark.tamis.mode = 'on': must be one of apply, observe, off"),
        ("spark.tamis.enable = false", "did you mean spark.tamis.enabled?"),
        ("spark.tamis.timeout: soon", "'soon': must be a time"),
        ("spark.tamis.timeoutMs: soon", "'soon': must be a time"),
    ],
)
def test_wrong_confs_of_the_file_are_reported(
    doctor: Doctor, tmp_path: Path, line: str, says: str
) -> None:
    write_settings(tmp_path, line + "\n")
    report = doctor("--no-spark")
    assert report.failed == ["confs"]
    assert says in report.checks["confs"]["text"]


def test_confs_of_the_arguments_take_precedence(doctor: Doctor, tmp_path: Path) -> None:
    write_settings(tmp_path, "spark.tamis.mode off\n")
    arguments = "--conf spark.tamis.mode=observe pyspark-shell"
    report = doctor("--no-spark", PYSPARK_SUBMIT_ARGS=arguments)
    assert report.checks["confs"]["text"] == "spark.tamis.mode = observe"


def test_other_confs_are_ignored() -> None:
    assert check_confs({"spark.master": "x", "spark.tamisx": "y"}, "").status == "ok"


def test_alternative_keys_are_known() -> None:
    for entry in tamis.conf.registry().values():
        for key in entry.alternatives:
            assert check_confs({key: tamis.conf.default_text(entry)}, "").status == "ok", key


def make_python(folder: Path, body: str) -> str:
    script = folder / "some-python"
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(0o755)
    return str(script)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("echo 'No module named tamis' >&2; exit 1", "No module named tamis"),
        ("echo Welcome", "is not ready: Welcome"),
        (
            """read line; echo 'READY {"port": 1, "wire": 99, "tamis": "9.9"}'; cat""",
            "uses version 99 of the wire protocol",
        ),
        (
            f"""read line; echo 'READY {{"port": 1, "wire": {VERSION}, "tamis": "9.9"}}'; cat""",
            "does not answer",
        ),
    ],
)
def test_broken_sidecar_is_reported(doctor: Doctor, tmp_path: Path, body: str, says: str) -> None:
    python = make_python(tmp_path, body)
    write_settings(tmp_path, f"spark.tamis.python {python}\n")
    report = doctor("--no-spark")
    assert report.failed == ["sidecar"]
    assert says in report.checks["sidecar"]["text"]
    assert f"spark.tamis.python is {python}" in report.checks["sidecar"]["fix"]


def test_missing_python_is_reported(doctor: Doctor, tmp_path: Path) -> None:
    write_settings(tmp_path, "spark.tamis.python /nowhere/python\n")
    report = doctor("--no-spark")
    assert report.failed == ["sidecar"]
    assert "/nowhere/python cannot be run" in report.checks["sidecar"]["text"]


@pytest.mark.spark
def test_broken_sidecar_is_reported_through_spark(doctor: Doctor, tmp_path: Path) -> None:
    python = make_python(tmp_path, "echo 'No module named tamis' >&2; exit 1")
    write_settings(tmp_path, f"spark.tamis.python {python}\n")
    report = doctor()
    assert (report.code, report.failed) == (1, ["sidecar", "prune"])
    assert f"{python} has no module 'tamis'" in report.checks["prune"]["text"]


@pytest.mark.spark
def test_spark_that_does_not_start_is_reported(doctor: Doctor, tmp_path: Path) -> None:
    write_settings(tmp_path, "spark.executor.memory nonsense\n")
    report = doctor()
    assert (report.code, report.failed) == (1, ["spark"])
    assert "Executor memory must be a positive number" in report.checks["spark"]["text"]
    assert report.checks["prune"]["status"] == "skipped"
