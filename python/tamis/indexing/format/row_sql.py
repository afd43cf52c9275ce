"""The SQL with which Spark aggregates the rows of each file: see `row_aggregation`.

Every row has the file that contains it (FILE) and, for entry k, the value `v<k>` and the flag
`old<k>`, see `is_old`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tamis.indexing.format import blooms, distinct_sketches, value_lists
from tamis.indexing.format.entries import Entry

__all__ = [
    "FILE",
    "FLOATING",
    "ID",
    "MAX_BOUND",
    "NAN",
    "ORDINARY",
    "TEXT",
    "bounds_sql",
    "is_old",
    "members_sql",
    "sketch_sql",
]

#: The columns that identify a file, and a hash of them.
FILE: Final = ("file", "size", "mtime")
ID: Final = f"xxhash64({', '.join(FILE)}) AS id"
#: Spark may rebase dates and timestamps before these, depending on the session and the writer. They
#: are two days after the calendar changes, so that no rebased value crosses them.
OLDEST: Final = {
    "date": "DATE '1582-10-17'",
    "timestamp": "TIMESTAMP '1900-01-03 00:00:00Z'",
    "timestamp_ntz": "TIMESTAMP_NTZ '1900-01-03 00:00:00'",
}
TEXT: Final = ("string", "binary")
#: Longer bounds of strings and binary are truncated, outward; in bytes.
MAX_BOUND: Final = 1024
FLOATING: Final = ("float", "double")
ORDINARY, _NULL, NAN, _LONG, _OLD = range(5)


def is_old(entry: Entry) -> str:
    """Return SQL of whether a row has dates or timestamps that sessions may read differently."""
    tests = [f"{sql} < {OLDEST[kind]}" for sql, kind in entry.guards]
    return f"coalesce({' OR '.join(tests)}, false)" if tests else "false"


def _is_nan(name: str, entry: Entry) -> str:
    return f"isnan({name})" if entry.type in FLOATING else "false"


def bounds_sql(k: int, entry: Entry) -> list[str]:
    """Return SQL of the columns `min<k>`, `max<k>`, `null<k>`, `nan<k>` and `old<k>`.

    Minimum and maximum are those of values that are neither NULL nor NaN. If they are longer than
    MAX_BOUND bytes, they are cut off, behind one more byte or character.
    """
    value = f"v{k}"
    nan = _is_nan(value, entry)
    ordinary = value if nan == "false" else f"IF({nan}, NULL, {value})"
    bounds = [f"{kind}({ordinary})" for kind in ("min", "max")]
    if entry.type in TEXT:
        bounds = [f"substring({bound}, 1, {MAX_BOUND + 1})" for bound in bounds]
    if entry.type == "string":  # raw bytes, because strings need not be valid UTF-8
        bounds = [f"CAST({bound} AS BINARY)" for bound in bounds]
    return [
        f"{bounds[0]} AS min{k}",
        f"{bounds[1]} AS max{k}",
        f"count(*) - count({value}) AS null{k}",
        f"count_if({nan}) AS nan{k}",
        f"bool_or(old{k}) AS old{k}",
    ]


def sketch_sql(k: int, entry: Entry) -> list[str]:
    """Return SQL of the columns `sketch<k>`, `old<k>` and, for text, `length<k>` and `longest<k>`.

    A sketch has the values that are not NULL. The length of a value is that of ANALYZE TABLE:
    characters of strings, bytes of binary.
    """
    value = f"v{k}"
    columns = [
        f"{distinct_sketches.sketch_sql(value)} AS sketch{k}",
        f"bool_or(old{k}) AS old{k}",
    ]
    if entry.type in TEXT:
        columns += [
            f"coalesce(sum(CAST(length({value}) AS BIGINT)), 0L) AS length{k}",
            f"CAST(max(length({value})) AS BIGINT) AS longest{k}",
        ]
    return columns


def members_sql(entries: Sequence[Entry], blocks: int) -> str:
    """Return SQL of one row per value, or per block of a filter, of every entry and file.

    The column `n` is the number of rows in that group. Lists that are too long are cut off: the
    remaining groups of such a file have fewer rows than the file, so it does not count.
    """
    items = []
    for k, entry in enumerate(entries):
        value = f"v{k}"
        too_long = (
            f"octet_length({value}) > {value_lists.MAX_LENGTH}" if _is_list_of_text(entry) else ""
        )
        tests = [
            f"WHEN old{k} THEN {_OLD}",
            f"WHEN {value} IS NULL THEN {_NULL}",
            f"WHEN {_is_nan(value, entry)} THEN {NAN}",
            f"WHEN {too_long} THEN {_LONG}" if too_long else "",
        ]
        state = f"CASE {' '.join(tests)} ELSE {ORDINARY} END"
        key, columns = "CAST(NULL AS BINARY)", ["CAST(NULL AS INT)", *["0L"] * 4]
        if entry.kind == "values":
            key = value_lists.key_sql(value, entry.type)
        else:
            columns = list(blooms.row_sql(f"xxhash64({value})", blocks))
        ordinary = f"({state}) = {ORDINARY}"
        named = [f"{k} AS item", f"{state} AS state", f"IF({ordinary}, {key}, NULL) AS key"]
        named.append(f"IF({ordinary}, {columns[0]}, NULL) AS block")
        named += [f"IF({ordinary}, {words}, 0L) AS w{j}" for j, words in enumerate(columns[1:])]
        items.append(f"struct({', '.join(named)})")
    exploded = f"SELECT {ID}, inline(array({', '.join(items)})) FROM {{rows}}"
    words = ", ".join(f"bit_or(w{j}) AS w{j}" for j in range(4))
    grouped = (
        f"SELECT id, item, state, block, key, {words}, count(*) AS n FROM ({exploded}) "
        "GROUP BY id, item, state, block, key"
    )
    if all(entry.kind == "bloom" for entry in entries):
        return grouped
    return (
        f"SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY id, item, block ORDER BY key) "
        f"AS place FROM ({grouped})) WHERE place <= {value_lists.MAX_VALUES + _OLD + 1}"
    )


def _is_list_of_text(entry: Entry) -> bool:
    return entry.kind == "values" and entry.type in TEXT
