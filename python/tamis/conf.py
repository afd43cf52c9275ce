"""The confs of tamis: one registry, `conf.json`, which the extension reads too.

>>> entry("spark.tamis.timeoutMs").default
5000
>>> check("spark.tamis.mode", "observe")
'observe'
>>> check("spark.tamis.mode", "on")
Traceback (most recent call last):
tamis.errors.ConfError: spark.tamis.mode: 'on' is not one of apply, observe, off
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

Value: TypeAlias = bool | int | str


class ValueType(StrEnum):
    """What a conf holds; int is 32 bits, long 64, as in Spark's own registry."""

    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    STRING = "string"
    ENUM = "enum"


@dataclass(frozen=True, slots=True)
class Entry:
    """One conf. `default` None: not set, and `doc` says what then holds."""

    key: str
    type: ValueType
    default: Value | None
    doc: str
    since: str
    values: tuple[str, ...] = ()  # of an enum: what is allowed
    minimum: int | None = None  # of an int or long: the least that is allowed; None: any

    @property
    def allowed(self) -> str:
        """What may be set, in words.

        >>> entry("spark.tamis.timeoutMs").allowed
        'int, at least 1'
        """
        if self.type is ValueType.ENUM:
            return "one of " + ", ".join(self.values)
        return f"{self.type}, at least {self.minimum}" if self.minimum is not None else self.type


@cache
def registry() -> Mapping[str, Entry]:
    """Every conf by its key, in the order of `conf.json`.

    >>> all(key.startswith("spark.tamis.") for key in registry())
    True
    """
    return MappingProxyType({e.key: e for e in map(_entry, documents())})


def documents() -> list[dict[str, Any]]:
    """The registry as `conf.json` has it."""
    text = resources.files("tamis").joinpath("conf.json").read_text("utf-8")
    found: list[dict[str, Any]] = json.loads(text)
    return found


def entry(key: str) -> Entry:
    """The conf of that key. Raises ConfError, with the nearest key, when there is none."""
    found = registry().get(key)
    if found is None:
        near = difflib.get_close_matches(key, registry(), n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise ConfError(f"{key}: no such conf{meant} (python -m tamis conf lists them)")
    return found


def check(key: str, value: object) -> Value:
    """The value as its own type, from that type or from text as SET and --conf give it.

    Raises ConfError, which names the key, the value and what is allowed.

    >>> check("spark.tamis.enabled", "TRUE"), check("spark.tamis.timeoutMs", "250")
    (True, 250)
    """
    conf = entry(key)
    parsed = _parse(conf.type, value)
    below = conf.minimum is not None and isinstance(parsed, int) and parsed < conf.minimum
    outside = conf.type is ValueType.ENUM and parsed not in conf.values
    if parsed is None or below or outside:
        raise ConfError(f"{key}: {value!r} is not {_with_article(conf.allowed)}")
    return parsed


def default_text(conf: Entry) -> str:
    """The default as SET would take it.

    >>> default_text(entry("spark.tamis.enabled")), default_text(entry("spark.tamis.python"))
    ('true', 'not set')
    """
    if conf.default is None:
        return "not set"
    return conf.default if isinstance(conf.default, str) else json.dumps(conf.default)


def to_markdown() -> str:
    """The text of docs/conf.md.

    >>> to_markdown().splitlines()[0]
    '# Confs'
    """
    rows = "".join(
        f"| `{e.key}` | {e.allowed} | `{default_text(e)}` | {e.doc} | {e.since} |\n"
        for e in registry().values()
    )
    return _MARKDOWN_HEAD + rows


_MARKDOWN_HEAD = """\
# Confs

<!-- Made by `python -m tamis conf --markdown > docs/conf.md` from python/tamis/conf.json. -->

Set them as any conf of Spark: `--conf key=value` when Spark starts, `SET key = value` in SQL or
`spark.conf.set(key, value)` while it runs. A value that is not allowed is refused by Spark, with
what is allowed.

| key | allowed | default | meaning | since |
| --- | --- | --- | --- | --- |
"""

_BITS = {ValueType.INT: 32, ValueType.LONG: 64}
_BOOLEANS = {"true": True, "false": False}


def _parse(type_: ValueType, value: object) -> Value | None:
    """None: not a value of that type. Text is read as Spark reads it: trimmed, any case of true."""
    if type_ is ValueType.BOOLEAN:
        return value if isinstance(value, bool) else _BOOLEANS.get(str(value).strip().lower())
    if type_ in _BITS:
        return None if isinstance(value, bool) else _parse_integer(str(value), _BITS[type_])
    return value if isinstance(value, str) else None


def _parse_integer(text: str, bits: int) -> int | None:
    try:
        number = int(text.replace("_", "x"))  # Python allows 5_000, Spark does not
    except ValueError:
        return None
    return number if -(1 << bits - 1) <= number < 1 << bits - 1 else None


def _entry(document: dict[str, Any]) -> Entry:
    return Entry(
        key=document["key"],
        type=ValueType(document["type"]),
        default=document["default"],
        doc=document["doc"],
        since=document["since"],
        values=tuple(document.get("values", ())),
        minimum=document.get("min"),
    )


def _with_article(allowed: str) -> str:
    if allowed.startswith("one of"):
        return allowed
    return ("an " if allowed[0] in "aeiou" else "a ") + allowed
