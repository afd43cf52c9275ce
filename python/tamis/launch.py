"""The launch settings of PySpark's JVM: PYSPARK_SUBMIT_ARGS and spark-defaults.conf.

PySpark runs `spark-submit --conf <the builder's confs> $PYSPARK_SUBMIT_ARGS`. In spark-submit,
`--jars` takes precedence over the conf `spark.jars`, and a later `--conf` over an earlier one. The
defaults file applies to keys that are not set elsewhere (SparkSubmitArguments, the same in
Spark 4.0 to 4.3).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = [
    "FIRST_SPARK",
    "INSTALL_SPARK",
    "NEXT_SPARK",
    "SubmitArguments",
    "appended",
    "defaults",
    "is_supported",
    "parse_properties",
]

#: Supported versions: from FIRST_SPARK (inclusive) to NEXT_SPARK (exclusive).
FIRST_SPARK: Final = (4, 0)
NEXT_SPARK: Final = (4, 4)
INSTALL_SPARK: Final = 'pip install "pyspark>=4.0,<4.4"'

_VARIABLE = "PYSPARK_SUBMIT_ARGS"
_SHELL = "pyspark-shell"  # PySpark's own application, which waits for calls from Python


@dataclass(frozen=True, slots=True)
class SubmitArguments:
    """PYSPARK_SUBMIT_ARGS, the arguments that `pyspark` and notebooks pass to spark-submit.

    >>> SubmitArguments.of({"PYSPARK_SUBMIT_ARGS": "--jars a.jar pyspark-shell"}).value("--jars")
    'a.jar'
    """

    words: tuple[str, ...]

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> SubmitArguments:
        return cls(tuple(shlex.split(environment.get(_VARIABLE) or _SHELL)))

    def values(self, *names: str) -> list[str]:
        """Return the values of an option in order, given as the next word or after `=`."""
        values = []
        for word, following in zip(self.words, (*self.words[1:], ""), strict=True):
            if word in names:
                values.append(following)
            elif word.startswith(tuple(f"{name}=" for name in names)):
                values.append(word.split("=", 1)[1])
        return values

    def value(self, name: str) -> str | None:
        """Return the last value of an option, which is the one that applies."""
        values = self.values(name)
        return values[-1] if values else None

    def conf(self, key: str) -> str | None:
        """Return the value that spark-submit gives the conf; None if no argument sets it."""
        if key == "spark.jars" and (jars := self.value("--jars")) is not None:
            return jars
        if key == "spark.jars.packages" and (packages := self.value("--packages")) is not None:
            return packages
        pairs = [text.partition("=") for text in self.values("--conf", "-c")]
        values = [value for name, _, value in pairs if name.strip() == key]
        return values[-1].strip() if values else None

    def with_jars(self, jars: str) -> SubmitArguments:
        """Return these arguments with this value for --jars.

        >>> SubmitArguments(("--jars=a.jar", "pyspark-shell")).with_jars("a.jar,b.jar").words
        ('--jars', 'a.jar,b.jar', 'pyspark-shell')
        """
        others = list(self.words)
        while "--jars" in others:
            at = others.index("--jars")
            del others[at : at + 2]
        kept = [word for word in others if not word.startswith("--jars=")]
        return SubmitArguments(("--jars", jars, *kept))

    def put(self, environment: MutableMapping[str, str]) -> None:
        environment[_VARIABLE] = shlex.join(self.words)


def defaults(
    arguments: SubmitArguments, environment: Mapping[str, str], spark_home: str
) -> dict[str, str]:
    """Return the confs of the files that spark-submit reads. An unreadable file has none."""
    directory = environment.get("SPARK_CONF_DIR") or str(Path(spark_home, "conf"))
    standard = Path(directory, "spark-defaults.conf")
    named = arguments.value("--properties-file")
    confs: dict[str, str] = {}
    if named is None or "--load-spark-defaults" in arguments.words:
        confs.update(_read(standard))
    if named is not None:
        confs.update(_read(Path(named)))
    return confs


def _read(path: Path) -> dict[str, str]:
    try:
        return parse_properties(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return {}


def parse_properties(text: str) -> dict[str, str]:
    r"""Parse a Java properties file: `key value`, `key=value` or `key: value`.

    Lines that start with # or ! are comments. A backslash escapes the next character. At the end
    of a line it continues the line.

    >>> parse_properties("# mine\nspark.jars  a.jar,\\\n   b.jar\nspark.x = 1 \n")
    {'spark.jars': 'a.jar,b.jar', 'spark.x': '1'}
    """
    joined = re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t\f]*", r"\1", text)
    properties = {}
    for line in joined.splitlines():
        match = re.match(r"((?:\\.|[^\s:=\\])+)\s*[:=]?\s*(.*)", line.strip())
        if match and line.strip()[0] not in "#!":
            key, value = (re.sub(r"\\(.)", r"\1", part) for part in match.groups())
            properties[key] = value.strip()
    return properties


def appended(existing: str | None, *items: str) -> str:
    """Append items to a comma-separated list, and remove duplicates.

    >>> appended("a, b", "b", "c")
    'a,b,c'
    """
    parts = [part.strip() for part in (existing or "").split(",")]
    return ",".join(dict.fromkeys(part for part in (*parts, *items) if part))


def is_supported(spark_version: str) -> bool:
    """Return whether tamis works with this version of Spark.

    >>> [is_supported(each) for each in ("3.5.6", "4.0.0", "4.3.0.dev1", "4.4.0", "unknown")]
    [False, True, True, False, False]
    """
    numbers = tuple(map(int, re.findall(r"\d+", spark_version)[:2]))
    return FIRST_SPARK <= numbers < NEXT_SPARK
