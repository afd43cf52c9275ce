"""Checks the confs that Spark starts with: PYSPARK_SUBMIT_ARGS and spark-defaults.conf."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from tamis import conf
from tamis.doctor.finding import Finding, failed, ok
from tamis.errors import ConfError
from tamis.launch import SubmitArguments, defaults

__all__ = ["check_confs", "confs", "found_confs"]

_EXTENSION = "io.tamis.TamisExtensions"


def confs(environment: Mapping[str, str] = os.environ) -> Finding:
    """Check that each conf of tamis exists and has an allowed value."""
    return check_confs(found_confs(environment), "in PYSPARK_SUBMIT_ARGS or spark-defaults.conf")


def check_confs(settings: Mapping[str, str], where: str) -> Finding:
    """Return the finding about these confs.

    >>> check_confs({"spark.tamis.mode": "observe"}, "here").text
    'spark.tamis.mode = observe'
    """
    own = {key: value for key, value in settings.items() if key.lower().startswith("spark.tamis.")}
    wrong = []
    for key, value in own.items():
        try:
            conf.check(key, value)
        except ConfError as error:
            wrong.append(str(error))
    if wrong:
        return failed("confs", "; ".join(wrong), f"correct these confs {where}")
    parts = [f"{key} = {value}" for key, value in sorted(own.items())]
    extensions = settings.get("spark.sql.extensions", "")
    if extensions:
        parts.append(f"spark.sql.extensions = {extensions}")
    if extensions and _EXTENSION not in extensions:
        parts.append(f"tamis.configure adds {_EXTENSION}; for spark-submit, add it yourself")
    return ok("confs", "; ".join(parts) or "none is set: all defaults (python -m tamis conf)")


def found_confs(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the confs that Spark starts with. Arguments take precedence over the file."""
    arguments = SubmitArguments.of(environment)
    confs_at_start = defaults(arguments, environment, _spark_home(environment))
    for pair in arguments.values("--conf", "-c"):
        key, _, value = pair.partition("=")
        confs_at_start[key.strip()] = value.strip()
    return confs_at_start


def _spark_home(environment: Mapping[str, str]) -> str:
    pyspark = find_spec("pyspark")
    own = str(Path(pyspark.origin).parent) if pyspark and pyspark.origin else ""
    return environment.get("SPARK_HOME") or own
