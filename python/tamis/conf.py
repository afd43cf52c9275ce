"""The registry of confs, `conf.json`. The Spark extension reads it too.

>>> entry("spark.tamis.timeout").default
'5s'
>>> check("spark.tamis.mode", "observe")
'observe'
>>> check("spark.tamis.mode", "on")
Traceback (most recent call last):
tamis.errors.ConfError: spark.tamis.mode = 'on': must be one of apply, observe, off
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, TypeAlias

from tamis.errors import ConfError
from tamis.units import to_bytes, to_milliseconds

Value: TypeAlias = bool | int | str


class ValueType(StrEnum):
    """The type of a conf, as in Spark's own registry. An int has 32 bits."""

    BOOLEAN = "boolean"
    INT = "int"
    TIME = "time"
    BYTES = "bytes"
    STRING = "string"
    ENUM = "enum"


@dataclass(frozen=True, slots=True)
class Entry:
    """One conf. If `default` is None it is not set, and `doc` says what applies then."""

    key: str
    type: ValueType
    default: Value | None  # a time or a size as text, such as 5s
    doc: str
    since: str
    values: tuple[str, ...] = ()  # for an enum: the allowed values, in lower case
    minimum: int | str | None = None  # the smallest allowed number, time or size; None: any
    unit: str = ""  # for a time or a size: the unit of a number without one
    alternatives: tuple[str, ...] = ()  # other keys, which apply if `key` is not set

    @property
    def allowed(self) -> str:
        """The allowed values, in words.

        >>> entry("spark.tamis.timeout").allowed
        'time, at least 1ms'
        """
        if self.type is ValueType.ENUM:
            return "one of " + ", ".join(self.values)
        name = _NAMES.get(self.type, self.type)
        return f"{name}, at least {self.minimum}" if self.minimum is not None else name


@cache
def registry() -> Mapping[str, Entry]:
    """Return every conf by its key, in the order of `conf.json`.

    >>> all(key.startswith("spark.tamis.") for key in registry())
    True
    """
    return MappingProxyType({e.key: e for e in map(_entry, documents())})


def documents() -> list[dict[str, Any]]:
    """Return the registry as it stands in `conf.json`.

    Only the Scala accessors (project/ConfAccessors.scala) use the field `list`: what the items of a
    string are.
    """
    text = resources.files("tamis").joinpath("conf.json").read_text("utf-8")
    entries: list[dict[str, Any]] = json.loads(text)
    return entries


def entry(key: str) -> Entry:
    """Return the conf with this key, or with this alternative key.

    >>> entry("spark.tamis.timeoutMs").key
    'spark.tamis.timeout'

    Raises:
        ConfError: There is no such conf. The message suggests the nearest key.
    """
    conf = registry().get(key) or _by_alternative().get(key)
    if conf is None:
        near = difflib.get_close_matches(key, registry(), n=1)
        suggestion = f"; did you mean {near[0]}?" if near else ""
        raise ConfError(f"{key}: no such conf{suggestion} (python -m tamis conf lists them)")
    return conf


def check(key: str, value: object) -> Value:
    """Return the value of a conf in the type of the conf.

    Args:
        key: The key of the conf, or an alternative key.
        value: A value of that type, or text as SET and --conf pass it.

    Returns:
        A time in milliseconds, a size in bytes.

    Raises:
        ConfError: There is no such conf, or the value is not allowed. The message names the key,
            the value and the allowed values.

    >>> check("spark.tamis.enabled", "TRUE"), check("spark.tamis.timeout", "2s")
    (True, 2000)
    """
    conf = entry(key)
    parsed = _parse(conf, value)
    least = None if conf.minimum is None else _parse(conf, conf.minimum)
    below = isinstance(least, int) and isinstance(parsed, int) and parsed < least
    outside = conf.type is ValueType.ENUM and parsed not in conf.values
    if parsed is None or below or outside:
        raise ConfError(f"{key} = {value!r}: must be {_requirement(conf)}")
    return parsed


def default_text(conf: Entry) -> str:
    """Return the default in the form that SET takes.

    >>> default_text(entry("spark.tamis.enabled")), default_text(entry("spark.tamis.python"))
    ('true', 'not set')
    """
    if conf.default is None:
        return "not set"
    return conf.default if isinstance(conf.default, str) else json.dumps(conf.default)


def to_markdown() -> str:
    """Return the text of docs/conf.md.

    >>> to_markdown().splitlines()[0]
    '# Confs'
    """
    rows = "".join(
        f"| `{e.key}` | {e.allowed} | `{default_text(e)}` | {e.doc} | {e.since} |\n"
        for e in registry().values()
    )
    alternatives = "".join(
        f"- `{alternative}`{_of_numbers(e)}: `{e.key}`\n"
        for e in registry().values()
        for alternative in e.alternatives
    )
    return _MARKDOWN_HEAD + rows + _MARKDOWN_ALTERNATIVES + alternatives


def _of_numbers(conf: Entry) -> str:
    return f", a number in {_UNITS[conf.unit]}" if conf.unit else ""


_MARKDOWN_HEAD = """\
# Confs

<!-- Generated by `python -m tamis conf --markdown > docs/conf.md` from python/tamis/conf.json. -->

Set them like any conf of Spark: `--conf key=value` when Spark starts, `SET key = value` in SQL or
`spark.conf.set(key, value)` at run time. Spark refuses a value that is not allowed, with an error
that names the allowed values.

Times and sizes are written as in Spark's own confs. A time is a whole number and one of `us`, `ms`,
`s`, `m` or `min`, `h` and `d`. A size is a whole number and one of `b`, `k` or `kb`, `m` or `mb`,
`g` or `gb`, `t` or `tb`, `p` or `pb`, each 1024 times the one before it. A number without a unit
is in milliseconds, except for `spark.tamis.history.maxAge` (days), `spark.tamis.history.maxSize`
(MiB) and `spark.tamis.index.auto.maxReadSize` (bytes).

| key | allowed | default | meaning | since |
| --- | --- | --- | --- | --- |
"""

_MARKDOWN_ALTERNATIVES = """
Older names of some confs still work. In this list, the current name follows the colon. An older
name applies only if the current one is not set.

"""

_BOOLEANS = {"true": True, "false": False}
_NAMES = {ValueType.BYTES: "size"}
_UNITS = {"ms": "milliseconds", "d": "days", "m": "MiB"}


@cache
def _by_alternative() -> Mapping[str, Entry]:
    return {key: e for e in registry().values() for key in e.alternatives}


def _parse(conf: Entry, value: object) -> Value | None:
    """Return the value in the type of the conf, or None if it is not a value of this type.

    Text is parsed as Spark parses it: trimmed, and true and false in any case.
    """
    match conf.type:
        case ValueType.BOOLEAN:
            return value if isinstance(value, bool) else _BOOLEANS.get(str(value).strip().lower())
        case ValueType.INT:
            return None if isinstance(value, bool) else _parse_integer(str(value))
        case ValueType.TIME:
            return None if isinstance(value, bool) else to_milliseconds(str(value), conf.unit)
        case ValueType.BYTES:
            return None if isinstance(value, bool) else to_bytes(str(value), conf.unit)
        case ValueType.ENUM:
            return str(value).strip().lower()
        case ValueType.STRING:
            return value if isinstance(value, str) else None


def _parse_integer(text: str) -> int | None:
    try:
        number = int(text.replace("_", "x"))  # Python allows 5_000, Spark does not
    except ValueError:
        return None
    return number if -(1 << 31) <= number < 1 << 31 else None


def _entry(document: dict[str, Any]) -> Entry:
    return Entry(
        key=document["key"],
        type=ValueType(document["type"]),
        default=document["default"],
        doc=document["doc"],
        since=document["since"],
        values=tuple(document.get("values", ())),
        minimum=document.get("min"),
        unit=document.get("unit", ""),
        alternatives=tuple(document.get("alternatives", ())),
    )


def _requirement(conf: Entry) -> str:
    """Return the allowed values, as the object of a sentence.

    >>> _requirement(entry("spark.tamis.timeout")), _requirement(entry("spark.tamis.audit"))
    ('a time of at least 1ms, such as 5s', 'a whole number of at least 0')
    """
    match conf.type:
        case ValueType.ENUM:
            return conf.allowed
        case ValueType.BOOLEAN:
            return "true or false"
        case ValueType.INT:
            name = "whole number"
        case _:
            name = _NAMES.get(conf.type, conf.type)
    least = "" if conf.minimum is None else f" of at least {conf.minimum}"
    example = f", such as {conf.default}" if conf.unit else ""
    return f"a {name}{least}{example}"
