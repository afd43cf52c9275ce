"""`python -m bench.picture`: write docs/before_after.svg, the picture in the README, from a run.

It shows one query on lineitem in 200 files, with tamis off and on in turn. A square is a file, in
listing order. It is filled if the file was opened.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from bench.opened import Opened
from bench.session import session
from bench.tpch import measure, tables

REPOSITORY = Path(__file__).resolve().parents[1]
TARGET = REPOSITORY / "docs" / "before_after.svg"
SQL = (
    "SELECT sum(l_extendedprice * l_discount) FROM lineitem "
    "WHERE year(l_shipdate) = 1995 AND month(l_shipdate) = 3"
)

_COLUMNS, _STEP, _SQUARE = 25, 15, 12
_PANEL, _TOP, _HEIGHT = 390, 92, 218
_STYLE = """
text { font: 14px system-ui, sans-serif; fill: #1f2328 }
.sql { font: 12.5px ui-monospace, monospace; fill: #59636e }
.who { font-weight: 600; font-size: 16px }
.opened { fill: #cf5c36 }
.skipped { fill: none; stroke: #b7bec6 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } .sql { fill: #9198a1 }
  .opened { fill: #f0824f } .skipped { stroke: #4a525c }
}
"""


@dataclass(frozen=True, slots=True)
class Panel:
    """A run of the query: the opened files of all files, and the time."""

    who: str
    opened: Sequence[bool]
    seconds: float

    @property
    def caption(self) -> str:
        share = f"{sum(self.opened)} of {len(self.opened)} files opened"
        return f"{share}, {self.seconds * 1000:.0f} ms"


def main() -> None:
    spark = session("4g", {"spark.sql.session.timeZone": "UTC"})
    spark.conf.set("spark.tamis.enabled", "false")
    places = tables.make(spark, REPOSITORY / "build" / "tpch" / "1", 1, "clustered")
    lineitem = next(place for place in places if place.name == "lineitem")
    files = sorted(path for path in lineitem.iterdir() if path.suffix == ".parquet")
    compared = measure.compare(spark, SQL, [lineitem], 7)
    if compared.answers_differ:
        raise SystemExit("the answers with tamis on and off differ")
    panels = []
    for who, on, runs in (
        ("Spark", False, compared.off),
        ("Spark with tamis", True, compared.on),
    ):
        spark.conf.set("spark.tamis.enabled", str(on).lower())
        with Opened([lineitem]) as opened:
            spark.sql(SQL).collect()
        seconds = statistics.median(run.seconds for run in runs)
        panels.append(Panel(who, [file in opened.files for file in files], seconds))
    TARGET.write_text(drawn(SQL, panels), "utf-8")
    print(TARGET.relative_to(REPOSITORY), *(panel.caption for panel in panels), sep="\n")
    spark.stop()


def drawn(sql: str, panels: Sequence[Panel]) -> str:
    """Return the picture as SVG, legible on light and dark pages."""
    select, where, filters = sql.partition(" WHERE")
    label = "; ".join(f"{panel.who}: {panel.caption}" for panel in panels)
    parts = "\n".join(line for i, panel in enumerate(panels) for line in _panel(panel, i * _PANEL))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_PANEL * len(panels)} {_HEIGHT}" '
        f'role="img">\n<title>{escape(label)}</title>\n<style>{_STYLE}</style>\n'
        f'<text class="sql" x="2" y="14">{escape(select)}</text>\n'
        f'<text class="sql" x="2" y="31">{escape((where + filters).strip())}</text>\n'
        f"{parts}\n</svg>\n"
    )


def _panel(panel: Panel, left: int) -> Iterator[str]:
    yield f'<text class="who" x="{left + 2}" y="64">{escape(panel.who)}</text>'
    yield f'<text x="{left + 2}" y="84">{escape(panel.caption)}</text>'
    for kind in ("skipped", "opened"):
        squares = "".join(
            _square(left, place)
            for place, is_opened in enumerate(panel.opened)
            if is_opened == (kind == "opened")
        )
        yield f'<path class="{kind}" d="{squares}"/>'


def _square(left: int, place: int) -> str:
    row, column = divmod(place, _COLUMNS)
    x, y = left + column * _STEP + 2.5, _TOP + row * _STEP + 6.5
    return f"M{x} {y}h{_SQUARE}v{_SQUARE}h-{_SQUARE}z"


if __name__ == "__main__":
    main()
