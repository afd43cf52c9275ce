"""The rules of strings.case_preimages match Spark, for every character and in context.

Spark maps characters outside ASCII by Java or by ICU, as a conf selects, in the locale of the JVM.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.evaluation.domain.spans import only
from tamis.evaluation.functions.strings.case_preimages import case_preimage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("no_codegen")

#: The last character of plane 3: later ones are unassigned, private, tags or selectors of variants,
#: and have no letter case.
LAST = 0x3FFFF
LOCALES = ("", "tr", "lt", "az", "el")
BINARY = {
    "mapped_up": "CAST(upper(CAST(b AS STRING)) AS BINARY)",
    "mapped_down": "CAST(lower(CAST(b AS STRING)) AS BINARY)",
}
#: Letters with special case mappings, marks that change mappings of others, and invalid bytes.
PARTS = [
    *(
        each.encode()
        for each in "iIjJsKz\u0130\u0131\u017f\u212a\u00df\ufb01\u00cc\u0323\u0307\u0300"
    ),
    b"\xe2",
    b"\xff",
]


@pytest.fixture(params=[(locale, icu) for locale in LOCALES for icu in ("true", "false")], ids=str)
def mapping(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """Set one locale of the JVM and one implementation of the mapping."""
    tag, icu = request.param
    locale = spark._jvm.java.util.Locale
    before = locale.getDefault()
    locale.setDefault(locale.forLanguageTag(tag) if tag else locale.ROOT)
    spark.conf.set("spark.sql.icu.caseMappings.enabled", icu)
    try:
        yield tag, icu
    finally:
        locale.setDefault(before)
        spark.conf.unset("spark.sql.icu.caseMappings.enabled")


def _mapped(spark: SparkSession, path: Path, texts: list[bytes]) -> DataFrame:
    pq.write_table(pa.table({"b": pa.array(texts, pa.binary())}), path / "texts.parquet")
    columns = [f"{sql} AS {name}" for name, sql in BINARY.items()]
    return spark.read.parquet(str(path)).selectExpr("b", *columns)


def _check(frame: DataFrame) -> int:
    wrong, count = [], 0
    for text, up, down in frame.collect():
        count += 1
        for to_upper, image in ((True, bytes(up)), (False, bytes(down))):
            preimage = case_preimage(to_upper, only(image))
            if not any(low <= text and (high is None or text < high) for low, high in preimage):
                wrong.append((bytes(text), to_upper, image))
    assert not wrong
    return count


def test_preimages_of_every_character(
    spark: SparkSession, mapping: tuple[str, str], tmp_path: Path
) -> None:
    """Every character whose image is empty or begins with ASCII. The others need no rule."""
    characters = [chr(c).encode() for c in range(1, LAST + 1) if not 0xD800 <= c < 0xE000]
    frame = _mapped(spark, tmp_path, characters)
    begins = "(mapped_up < X'80' OR mapped_down < X'80')"
    assert _check(frame.where(begins)) > 127


def test_preimages_contain_characters_that_depend_on_context(
    spark: SparkSession, mapping: tuple[str, str], tmp_path: Path
) -> None:
    texts = [b"".join(each) for size in (1, 2, 3) for each in product(PARTS, repeat=size)]
    random = Random(f"{mapping}")
    texts += [b"".join(random.choices(PARTS, k=random.randint(4, 7))) for _ in range(2_000)]
    assert _check(_mapped(spark, tmp_path, texts)) == len(texts)


def test_locale_changes_the_mapping(
    spark: SparkSession, mapping: tuple[str, str], tmp_path: Path
) -> None:
    """Otherwise the tests above would repeat one another."""
    (row,) = _mapped(spark, tmp_path, ["i\u00e9".encode()]).collect()
    dotted = mapping[0] in ("tr", "az")
    assert bytes(row.mapped_up).decode() == ("\u0130\u00c9" if dotted else "I\u00c9")
