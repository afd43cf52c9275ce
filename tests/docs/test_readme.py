"""The code of the README runs, and its picture matches its description."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_readme_code_runs(spark: SparkSession, repository: Path, tmp_path: Path) -> None:
    path = tmp_path / "lineitem"
    days = "DATE'1995-03-01' + CAST(id AS INT)"
    spark.range(100).selectExpr(
        f"{days} AS l_shipdate", f"{days} AS l_receiptdate"
    ).repartitionByRange(4, "l_shipdate").write.parquet(str(path))
    (code,) = re.findall(r"```python\n(.*?)```", (repository / "README.md").read_text(), re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 8
    names: dict[str, object] = {}
    exec(code.replace("/data/lineitem", str(path)).replace("lineitem.where", "n = lineitem.where"), names)  # fmt: skip
    assert names["n"] == 1


def test_picture_matches_its_title(repository: Path) -> None:
    picture = (repository / "docs" / "before_after.svg").read_text()
    (title,) = re.findall(r"<title>(.*?)</title>", picture)
    assert f"![{title}](docs/before_after.svg)" in (repository / "README.md").read_text()
    opened = re.findall(r"(\d+) of (\d+) files opened", title)
    for (count, total), drawn in zip(
        opened, re.findall(r'class="opened" d="(.*?)"', picture), strict=True
    ):
        assert (drawn.count("z"), int(total)) == (int(count), 200)
