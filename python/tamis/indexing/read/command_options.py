"""Options of `python -m tamis index` for ORC, CSV and JSON files, from how Spark reads them."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from tamis.indexing.read.reader_options import DELTA, ICEBERG, Reading

__all__ = ["command_options", "ddl_of"]

#: A schema with a longer DDL is left to the user.
_MOST_DDL: Final = 500
_ZONE: Final = "spark.sql.session.timeZone"
#: How ReadFingerprint writes a secret.
_HIDDEN: Final = "sha256 "


def command_options(reading: Reading | None) -> tuple[str, ...]:
    """Return the arguments with which the command reads the files in the same way.

    Parquet, and tables of Delta and Iceberg, need no options. A schema that is long, or that DDL
    cannot express, becomes the placeholder DDL, as in the help of the command; so does a secret, as
    VALUE.

    >>> schema = '{"fields": [{"name": "id", "type": "long", "metadata": {}}]}'
    >>> command_options(Reading("csv", schema, "", {"sep": ";"}, {}, {}))
    ('--format', 'csv', '--schema', 'id LONG', '--option', 'sep=;')
    """
    if reading is None or reading.format in (ICEBERG, DELTA):
        return ()
    options = ["--format", reading.format, "--schema", ddl_of(reading.schema) or "DDL"]
    for key, value in reading.options.items():
        options += ["--option", f"{key}={_shown(value)}"]
    for key, value in reading.confs.items():
        # The zone is always present. Keys without the prefix of Spark are not confs.
        is_default = key == _ZONE and value == reading.machine.get("zone")
        if key.startswith("spark.") and not is_default:
            options += ["--conf", f"{key}={_shown(value)}"]
    return tuple(options)


def _shown(value: str) -> str:
    return "VALUE" if value.startswith(_HIDDEN) else value


def ddl_of(schema: str) -> str | None:
    """Return a schema, Spark's JSON, as DDL.

    Returns None if it is long, has metadata (such as CHAR columns) or cannot be parsed.
    """
    try:
        ddl = ", ".join(_field(each, " ") for each in json.loads(schema)["fields"])
    except (ValueError, KeyError, TypeError):
        return None
    return ddl if len(ddl) <= _MOST_DDL else None


def _field(field: dict[str, Any], separator: str) -> str:
    if field["metadata"]:
        raise ValueError("DDL does not express metadata")
    return f"{_quoted(field['name'])}{separator}{_type(field['type'])}"


def _type(kind: Any) -> str:
    if isinstance(kind, str):
        return kind.upper()
    match kind["type"]:
        case "struct":
            return f"STRUCT<{', '.join(_field(each, ': ') for each in kind['fields'])}>"
        case "array":
            return f"ARRAY<{_type(kind['elementType'])}>"
        case "map":
            return f"MAP<{_type(kind['keyType'])}, {_type(kind['valueType'])}>"
        case _:
            raise ValueError("a type without DDL, such as a user-defined one")


def _quoted(name: str) -> str:
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return name
    return "`" + name.replace("`", "``") + "`"
