"""Delta writes tables of all kinds, and the rows of each data file.

The rows of table t are in `rows/t` in the folder, with the path of their file in the column `_file`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["write"]

TYPES = {
    "b": ("BYTE", ["-128Y", "0Y", "127Y"]),
    "s": ("SHORT", ["-32768S", "7S"]),
    "i": ("INT", ["-2147483648", "0", "2147483647"]),
    "l": ("LONG", ["-9223372036854775808L", "9007199254740993L", "9223372036854775807L"]),
    "f": ("FLOAT", ["0.1F", "-0.0F", "0.0F", "FLOAT('NaN')", "FLOAT('-Infinity')", "16777217F"]),
    "d": ("DOUBLE", ["0.1D", "-0.0D", "0.0D", "DOUBLE('NaN')", "DOUBLE('Infinity')", "1E-300D"]),
    "bo": ("BOOLEAN", ["true", "false"]),
    "bi": ("BINARY", ["X'00'", "X'FFFE'"]),
    "st": (
        "STRING",
        [
            "''",
            "'short'",
            "repeat('x', 32)",
            "repeat('x', 33)",
            "repeat('é', 40)",
            "concat(repeat('x', 31), '😀😀')",
            "concat(repeat('x', 32), '😀')",
            "concat(repeat('x', 32), '\ufffe')",
            "concat(repeat('\U0010ffff', 20), 'z')",
            "CAST(X'FFFE' AS STRING)",
            "CAST(X'61C2' AS STRING)",
            "'\ufffd'",
            "concat(repeat('~', 40), '\\n')",
        ],
    ),
    "ch": ("CHAR(5)", ["'a'", "'abcde'"]),
    "vc": ("VARCHAR(60)", ["'a'", "repeat('b', 50)"]),
    "d1": ("DECIMAL(10, 2)", ["0.01BD", "-99999999.99BD", "12345678.9BD"]),
    "d2": (
        "DECIMAL(38, 10)",
        ["1234567890123456789012345678.0123456789BD", "-0.0000000001BD", "123456789.25BD"],
    ),
    "da": (
        "DATE",
        [
            "'0001-01-01'",
            "'1582-10-04'",
            "'1582-10-15'",
            "'1969-12-31'",
            "'9999-12-31'",
            "'2024-02-29'",
        ],
    ),
    "ts": (
        "TIMESTAMP",
        [
            "'0001-01-02 00:00:00'",
            "'1850-01-01 00:00:00.000001'",
            "'1883-11-18 12:03:58.123456'",
            "'1969-12-31 23:59:59.999999'",
            "'1970-01-01 00:00:00.000999'",
            "'2024-03-10 02:30:00.123456'",
            "'2024-11-03 01:30:00.999999'",
            "'9999-12-30 23:59:59.999999'",
        ],
    ),
    "ntz": (
        "TIMESTAMP_NTZ",
        [
            "'0001-01-01 00:00:00'",
            "'1883-11-18 12:03:58.123456'",
            "'1969-12-31 23:59:59.999999'",
            "'2024-03-10 02:30:00.123456'",
            "'9999-12-31 23:59:59.999999'",
        ],
    ),
    "n": (
        "STRUCT<x: INT, y: STRUCT<z: STRING>>",
        [
            "named_struct('x', 5, 'y', named_struct('z', 'deep'))",
            "named_struct('x', 6, 'y', named_struct('z', 'zeal'))",
            "named_struct('x', CAST(NULL AS INT), 'y', NULL)",
        ],
    ),
    "ar": ("ARRAY<INT>", ["array(1, NULL)"]),
    "key": ("LONG", ["3L", "4L"]),
    "m": ("MAP<STRING, INT>", ["map('a', 1)"]),
    "dot.ted": ("INT", ["11", "12"]),
    "Ünï": ("STRING", ["'ü'", "'quote''s'"]),
}
ZONES = ("UTC", "America/Los_Angeles", "Asia/Kolkata", "Africa/Monrovia")
PROPERTIES = {
    "classic": {"delta.checkpointInterval": "1"},
    "parts": {"delta.checkpointInterval": "1"},
    "v2_json": {"delta.checkpointInterval": "1", "delta.checkpointPolicy": "v2"},
    "v2_parquet": {"delta.checkpointInterval": "1", "delta.checkpointPolicy": "v2"},
    "structs": {
        "delta.checkpointInterval": "1",
        "delta.checkpoint.writeStatsAsJson": "false",
        "delta.checkpoint.writeStatsAsStruct": "true",
    },
}


@dataclass(frozen=True)
class _File:
    """A data file of random values.

    Attributes:
        rows: The number of rows.
        null_share: How likely a value is NULL.
        one_value: Whether all values of a column are equal, apart from NULLs.
    """

    rows: int
    null_share: float = 0.3
    one_value: bool = False


class _Writer:
    """Creates tables in a database of the folder, and describes those that are finished."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self._random = random.Random(4)
        self.written: dict[str, Any] = {}
        for name, value in {
            "spark.tamis.enabled": "false",
            "spark.sql.unionOutputPartitioning": "false",  # else files are written as one
        }.items():
            self.conf(name, value)
        self.sql(f"CREATE DATABASE written_by_delta LOCATION '{folder / 'tables'}'")
        self.sql("USE written_by_delta")

    def sql(self, text: str) -> None:
        self._spark.sql(text).collect()

    def conf(self, name: str, value: str) -> None:
        self._spark.conf.set(name, value)

    def create(self, name: str, columns: str, **properties: str) -> None:
        self.sql(f"CREATE TABLE {name} ({columns}) USING delta {self._properties(properties)}")

    def clone(self, name: str, source: str, **properties: str) -> None:
        """Clone a table, whose files get absolute paths. The location contains a space."""
        where = self._clone(name)
        self.sql(
            f"CREATE TABLE {name} SHALLOW CLONE {source} {self._properties(properties)} "
            f"LOCATION '{where}'"
        )

    def insert(self, name: str, *files: _File) -> None:
        """Insert files in one commit."""
        self.sql(f"INSERT INTO {name} {' UNION ALL '.join(map(self._values, files))}")

    def _values(self, file: _File) -> str:
        lines = []
        fixed = [self._random.choice(values) for _, values in TYPES.values()]
        for _ in range(file.rows):
            cells = []
            for (data_type, values), same in zip(TYPES.values(), fixed, strict=True):
                value = same if file.one_value else self._random.choice(values)
                value = "NULL" if self._random.random() < file.null_share else value
                wanted = "STRING" if "CHAR" in data_type else data_type
                cells.append(f"CAST({value} AS {wanted})")
            lines.append(f"({', '.join(cells)})")
        return f"(SELECT /*+ COALESCE(1) */ * FROM VALUES {', '.join(lines)})"

    def finish(self, name: str, mapping: str = "none", partitions: tuple[str, ...] = ()) -> None:
        """Write the rows of a table by file."""
        self._spark.conf.set("spark.sql.session.timeZone", "UTC")
        self._spark.conf.set("spark.sql.readSideCharPadding", "false")  # it hides _metadata
        self._spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        rows = self._spark.table(name).selectExpr("*", "_metadata.file_path AS _file")
        rows.coalesce(1).write.parquet(str(self._folder / "rows" / name))
        self._spark.conf.unset("spark.sql.parquet.outputTimestampType")
        clone = self._clone(name)
        self.written[name] = {
            "location": str(clone if clone.exists() else self._folder / "tables" / name),
            "mapping": mapping,
            "partitions": list(partitions),
        }

    def _clone(self, name: str) -> Path:
        return self._folder / "clones of tables" / name

    def _properties(self, properties: dict[str, str]) -> str:
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        return f"TBLPROPERTIES ({listed})" if listed else ""


def write(spark: SparkSession, folder: Path) -> dict[str, Any]:
    """Write the tables. Return the location, mapping and partition columns of each."""
    writer = _Writer(spark, folder)
    columns = ", ".join(f"`{name}` {data_type}" for name, (data_type, _) in TYPES.items())
    writer.create("types", columns, **{"delta.checkpointInterval": "1000"})
    for zone in ZONES:
        writer.conf("spark.sql.session.timeZone", zone)
        writer.insert(
            "types",
            *(_File(1, 0.1), _File(4, 0.3), _File(30, 0.2), _File(2, 1.0)),
            _File(3, 0.0, one_value=True),
        )
    writer.finish("types")
    for name, properties in PROPERTIES.items():
        size = "4" if name in ("parts", "v2_json", "v2_parquet") else "1000000"
        writer.conf("spark.databricks.delta.checkpoint.partSize", size)
        form = name.removeprefix("v2_") if name.startswith("v2_") else "parquet"
        writer.conf("spark.databricks.delta.checkpointV2.topLevelFileFormat", form)
        writer.clone(name, "types", **properties)
        writer.insert(name, _File(3))
        writer.finish(name)
    writer.clone("vectors", "types", **{"delta.enableDeletionVectors": "true"})
    writer.insert("vectors", _File(20))
    writer.sql("DELETE FROM vectors WHERE i = 0 OR st = 'short'")
    writer.sql("UPDATE vectors SET l = 5 WHERE s = 7 AND i IS NULL")
    writer.sql("DELETE FROM vectors WHERE key = 3 AND b IS NOT NULL")
    writer.finish("vectors")
    for mode in ("name", "id"):
        name = f"mapped_{mode}"
        writer.create(
            name,
            "p INT, a INT, b INT, s STRUCT<x: INT, y: INT>, gone STRING",
            # one checkpoint, before the last commit
            **{"delta.columnMapping.mode": mode, "delta.checkpointInterval": "9"},
        )
        values = (
            "(1, 10, 100, named_struct('x', 1000, 'y', 10000), 'old'), (2, 11, NULL, NULL, 'o')"
        )
        writer.sql(f"INSERT INTO {name} VALUES {values}")
        for old, new in (
            ("a", "t"),
            ("b", "a"),
            ("t", "b"),
            ("s.x", "t"),
            ("s.y", "x"),
            ("s.t", "y"),
        ):
            writer.sql(f"ALTER TABLE {name} RENAME COLUMN {old} TO {new}")
        writer.sql(f"ALTER TABLE {name} DROP COLUMN gone")
        writer.sql(f"ALTER TABLE {name} ADD COLUMN (gone INT, `new one` INT)")
        writer.sql(f"INSERT INTO {name} VALUES (3, 500, 50, named_struct('y', 7, 'x', 8), 9, 12)")
        writer.finish(name, mode)
    for form, properties in (("texts", PROPERTIES["classic"]), ("structs", PROPERTIES["structs"])):
        name = f"widened_{form}"
        writer.create(
            name,
            "a BYTE, b INT, f FLOAT, da DATE, de DECIMAL(5, 2), di INT, id INT",
            **{
                **properties,
                "delta.enableTypeWidening": "true",
                "delta.feature.timestampNtz": "supported",
                "delta.checkpointInterval": "4",  # one checkpoint, after the last commit
            },
        )
        writer.sql(
            f"INSERT INTO {name} VALUES (1, 5, 0.1, '2024-01-01', 1.25, 6, 3), (2, 5, 3.3, '1960-01-01', 2.5, 7, 4)"
        )
        writer.sql(f"ALTER TABLE {name} ALTER COLUMN a TYPE SHORT")
        writer.sql(
            f"ALTER TABLE {name} ALTER COLUMN a TYPE INT, b TYPE LONG, f TYPE DOUBLE, "
            "da TYPE TIMESTAMP_NTZ, de TYPE DECIMAL(12, 4), di TYPE DOUBLE, id TYPE DECIMAL(15, 2)"
        )
        writer.sql(
            f"INSERT INTO {name} VALUES (100000, 5000000000, 0.1, '2024-01-01 00:00:00.5', 1.2345, 0.5, 1.5)"
        )
        writer.finish(name)
    writer.sql("CREATE TABLE parted (p STRING, c INT) USING delta PARTITIONED BY (p)")
    writer.sql("INSERT INTO parted VALUES ('a b', 1), ('x=y:%', 2), (NULL, 3), ('é', 4)")
    writer.finish("parted", partitions=("p",))
    return writer.written
