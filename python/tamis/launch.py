"""With what the JVM of PySpark starts: PYSPARK_SUBMIT_ARGS and spark-defaults.conf.

PySpark runs `spark-submit --conf <the builder's confs> $PYSPARK_SUBMIT_ARGS`. spark-submit takes
`--jars` before the conf `spark.jars`, the last `--conf` before the first, and the file of defaults
where nothing else has the key (SparkSubmitArguments, the same in Spark 4.0 to 4.3).
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

#: Supported: from the first, and before the next.
FIRST_SPARK: Final = (4, 0)
NEXT_SPARK: Final = (4, 4)
INSTALL_SPARK: Final = 'pip install "pyspark>=4.0,<4.4"'

_VARIABLE = "PYSPARK_SUBMIT_ARGS"
_SHELL = "pyspark-shell"  # the application: PySpark's own, which waits for Python to call


@dataclass(frozen=True, slots=True)
class SubmitArguments:
    """PYSPARK_SUBMIT_ARGS, the arguments that `pyspark` and notebooks hand to spark-submit.

    >>> SubmitArguments.of({"PYSPARK_SUBMIT_ARGS": "--jars a.jar pyspark-shell"}).value("--jars")
    'a.jar'
    """

    words: tuple[str, ...]

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> SubmitArguments:
        return cls(tuple(shlex.split(environment.get(_VARIABLE) or _SHELL)))

    def values(self, *names: str) -> list[str]:
        """What stands after the option, or after its `=`, in order."""
        found = []
        for word, following in zip(self.words, (*self.words[1:], ""), strict=True):
            if word in names:
                found.append(following)
            elif word.startswith(tuple(f"{name}=" for name in names)):
                found.append(word.split("=", 1)[1])
        return found

    def value(self, name: str) -> str | None:
        """The last one: it is the one that counts."""
        found = self.values(name)
        return found[-1] if found else None

    def conf(self, key: str) -> str | None:
        """The value that spark-submit gives the conf, None where no argument has it."""
        if key == "spark.jars" and (jars := self.value("--jars")) is not None:
            return jars
        if key == "spark.jars.packages" and (packages := self.value("--packages")) is not None:
            return packages
        pairs = [text.partition("=") for text in self.values("--conf", "-c")]
        found = [value for name, _, value in pairs if name.strip() == key]
        return found[-1].strip() if found else None

    def with_jars(self, jars: str) -> SubmitArguments:
        """These arguments, with this value for --jars.

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
    """The confs of the file that spark-submit reads; a file that cannot be read has none."""
    directory = environment.get("SPARK_CONF_DIR") or str(Path(spark_home, "conf"))
    standard = Path(directory, "spark-defaults.conf")
    named = arguments.value("--properties-file")
    found: dict[str, str] = {}
    if named is None or "--load-spark-defaults" in arguments.words:
        found.update(_read(standard))
    if named is not None:
        found.update(_read(Path(named)))
    return found


def _read(path: Path) -> dict[str, str]:
    try:
        return parse_properties(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return {}


def parse_properties(text: str) -> dict[str, str]:
    r"""A Java properties file: `key value`, `key=value` or `key: value`; # and ! open comments.

    A backslash takes the next character as it is; at the end of a line it joins the next line.

    >>> parse_properties("# mine\nspark.jars  a.jar,\\\n   b.jar\nspark.x = 1 \n")
    {'spark.jars': 'a.jar,b.jar', 'spark.x': '1'}
    """
    joined = re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t\f]*", r"\1", text)
    found = {}
    for line in joined.splitlines():
        match = re.match(r"((?:\\.|[^\s:=\\])+)\s*[:=]?\s*(.*)", line.strip())
        if match and line.strip()[0] not in "#!":
            key, value = (re.sub(r"\\(.)", r"\1", part) for part in match.groups())
            found[key] = value.strip()
    return found


def appended(existing: str | None, *items: str) -> str:
    """A comma-separated list with these items at its end, each once.

    >>> appended("a, b", "b", "c")
    'a,b,c'
    """
    parts = [part.strip() for part in (existing or "").split(",")]
    return ",".join(dict.fromkeys(part for part in (*parts, *items) if part))


def is_supported(spark_version: str) -> bool:
    """Whether tamis works with a version of Spark.

    >>> [is_supported(each) for each in ("3.5.6", "4.0.0", "4.3.0.dev1", "4.4.0", "unknown")]
    [False, True, True, False, False]
    """
    numbers = tuple(map(int, re.findall(r"\d+", spark_version)[:2]))
    return FIRST_SPARK <= numbers < NEXT_SPARK
