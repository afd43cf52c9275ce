"""Time zones: local times between two moments, and moments between two local times.

Python's zoneinfo is the reference for its years (1 to 9999).
"""

from __future__ import annotations

import datetime
import zoneinfo
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis.evaluation.functions.temporal.zones import DAY, HOUR, SECOND, Zone, zone, zone_of
from tamis.expr.nodes import (
    CalendarInterval,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    IsNull,
    Literal,
    Value,
)
from tamis.expr.types import (
    CALENDAR_INTERVAL,
    DATE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
)

MINUTE = 60 * SECOND
ts, ntz = Column(("c",), TIMESTAMP), Column(("c",), TIMESTAMP_NTZ)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def micros(text: str) -> int:
    """Return the microseconds of a UTC time."""
    moment = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)
    return (moment - EPOCH) // datetime.timedelta(microseconds=1)


#: Zone and a moment around which its clocks change.
CHANGES = {
    "gap": ("America/New_York", micros("2024-03-10 07:00:00")),
    "overlap": ("America/New_York", micros("2024-11-03 06:00:00")),
    "half an hour": ("Australia/Lord_Howe", micros("2024-04-06 15:00:00")),
    "midnight that is skipped": ("America/Sao_Paulo", micros("2018-11-04 03:00:00")),
    "midnight that comes twice": ("America/Havana", micros("2024-11-03 05:00:00")),
    "day that is skipped": ("Pacific/Apia", micros("2011-12-30 10:00:00")),
    "day that is skipped in 1993": ("Pacific/Kwajalein", micros("1993-08-21 12:00:00")),
    "seconds": ("Africa/Monrovia", micros("1972-01-07 00:44:30")),
}


#: Days up to 12000-01-01, beyond Python's years.
FIRST_OF_12000 = int(np.datetime64("12000-01-01", "D").astype(np.int64))


def local_time(name: str, moment: int) -> int:
    """Return the local time in microseconds, by zoneinfo."""
    at = EPOCH + datetime.timedelta(microseconds=moment)
    offset = at.astimezone(zoneinfo.ZoneInfo(name)).utcoffset()
    assert offset is not None
    return moment + offset // datetime.timedelta(microseconds=1)


def moments_of(name: str, local: int) -> list[int]:
    """Return the moments with this local time: none in a gap, two in an overlap."""
    info = zoneinfo.ZoneInfo(name)
    naive = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=local)
    moments = []
    for fold in (0, 1):
        at = naive.replace(tzinfo=info, fold=fold).astimezone(datetime.UTC)
        moment = (at - EPOCH) // datetime.timedelta(microseconds=1)
        if local_time(name, moment) == local:
            moments.append(moment)
    return moments


def table_of(name: str, first_year: int = 1970) -> str:
    """Return the table of a zone as the shim writes it, by searching zoneinfo day by day."""
    start = (first_year - 1970) * 365 * DAY // DAY * DAY
    offset = local_time(name, start) - start
    text, changes, at = f"{offset // SECOND};", [], start
    while at < micros("2030-01-01 00:00:00"):
        following = at + DAY
        if local_time(name, following) - following != offset:
            low, high = at // SECOND, following // SECOND
            while low + 1 < high:
                middle = (low + high) // 2
                is_before = local_time(name, middle * SECOND) - middle * SECOND == offset
                low, high = (middle, high) if is_before else (low, middle)
            offset = local_time(name, high * SECOND) - high * SECOND
            changes.append(f"{high}:{offset // SECOND}")
        at = following
    return text + ",".join(changes)


def both_sources(name: str) -> list[Zone]:
    """Return the zone by its name, and by a table."""
    options = (("timeZoneId", name), ("zoneTable", table_of(name)))
    return [zone(name), zone_of(Call("Hour", (), options, INTEGER))]


ZONES = {name: both_sources(name) for name, _ in CHANGES.values()}


@given(st.sampled_from(sorted(CHANGES)), st.randoms(use_true_random=False))
def test_local_times_lie_within_their_bounds(change: str, random: Random) -> None:
    name, moment = CHANGES[change]
    reach = random.choice([1, SECOND, 40 * MINUTE, 3 * HOUR, 30 * HOUR])
    lower, upper = sorted(moment + random.randint(-reach, reach) for _ in range(2))
    inside = [lower, upper, *(random.randint(lower, upper) for _ in range(8))]
    inside += [each for each in (moment - 1, moment) if lower <= each <= upper]
    for source in ZONES[name]:
        low, high = source.local(np.array([lower]), np.array([upper]))
        local_times = [local_time(name, each) for each in inside]
        assert low[0] <= min(local_times)
        assert max(local_times) <= high[0]


@given(st.sampled_from(sorted(CHANGES)), st.randoms(use_true_random=False))
def test_moments_of_local_times_lie_within_their_bounds(change: str, random: Random) -> None:
    name, moment = CHANGES[change]
    reach = random.choice([SECOND, 40 * MINUTE, 3 * HOUR, 30 * HOUR])
    center = local_time(name, moment)
    lower, upper = sorted(center + random.randint(-reach, reach) for _ in range(2))
    for source in ZONES[name]:
        low, high = source.utc(np.array([lower]), np.array([upper]))
        for local in (lower, upper, *(random.randint(lower, upper) for _ in range(8))):
            for candidate in moments_of(name, local):
                assert low[0] <= candidate <= high[0]


@pytest.mark.parametrize("name", sorted(ZONES))
def test_bounds_are_exact_where_no_clock_changes(name: str) -> None:
    noon = micros("2024-01-15 12:00:00")
    for source in ZONES[name]:
        low, high = source.local(np.array([noon]), np.array([noon + HOUR]))
        assert [low[0], high[0]] == [local_time(name, each) for each in (noon, noon + HOUR)]
        back = source.utc(low, high)
        assert [back[0][0], back[1][0]] == [noon, noon + HOUR]


def verdict(predicate: Expr, lower: int, upper: int, column: Column = ts) -> str:
    arrow = {TIMESTAMP: pa.timestamp("us", "UTC"), TIMESTAMP_NTZ: pa.timestamp("us")}.get(
        column.type, pa.int64()
    )
    files = pa.table(
        {
            "min.c": pa.array([lower], arrow),
            "max.c": pa.array([upper], arrow),
            "null_count.c": [0],
        }
    )
    (result,) = tamis.evaluate(predicate, files).to_pylist()
    return str(result)


def call(name: str, data_type: DataType, *arguments: Expr, zone: str) -> Call:
    return Call(name, arguments, (("timeZoneId", zone), ("evalMode", "LEGACY")), data_type)


def is_(left: Call, value: Value) -> Expr:
    return Compare(Comparison.EQUAL, left, Literal(value, left.type))


def day(text: str) -> int:
    return micros(text + " 00:00:00") // DAY


@pytest.mark.parametrize("name", ["FromUTCTimestamp", "ToUTCTimestamp"])
@pytest.mark.parametrize(
    ("zone", "verdicts"),
    [
        (Literal("Asia/Tokyo", STRING), ("none", "all")),
        (Literal("UTC", STRING), ("none", "all")),
        # NULL where the zone is NULL, and an error where it is invalid
        (Column(("zone",), STRING), ("some", "some")),
        (Literal(None, STRING), ("some", "some")),
        (Literal("Mars/Olympus", STRING), ("some", "some")),
    ],
)
def test_only_a_constant_zone_that_exists_gives_bounds(
    name: str, zone: Expr, verdicts: tuple[str, str]
) -> None:
    moved = Call(name, (ts, zone), (), TIMESTAMP)
    assert verdict(IsNull(moved), 0, DAY) == verdicts[0]
    assert (
        verdict(Compare(Comparison.GREATER, moved, Literal(-3 * DAY, TIMESTAMP)), 0, DAY)
        == (verdicts[1])
    )


def test_skipped_hour_prunes_and_repeated_hour_does_not() -> None:
    zone = "America/New_York"
    gap, overlap = CHANGES["gap"][1], CHANGES["overlap"][1]
    hour = call("Hour", INTEGER, ts, zone=zone)
    assert verdict(is_(hour, 1), gap - HOUR, gap - 1) == "all"
    assert verdict(is_(hour, 2), gap - HOUR, gap - 1) == "none"
    assert verdict(is_(hour, 3), gap, gap + HOUR - 1) == "all"
    # Once before and once after the clocks are set back: 1:00 to 1:59 both times.
    assert verdict(is_(hour, 1), overlap - HOUR, overlap + HOUR - 1) == "all"
    assert verdict(is_(hour, 0), overlap - 1, overlap) == "none"


def test_skipped_day_prunes() -> None:
    change = CHANGES["day that is skipped"][1]
    date = call("Cast", DATE, ts, zone="Pacific/Apia")
    assert verdict(is_(date, day("2011-12-29")), change - HOUR, change - 1) == "all"
    assert verdict(is_(date, day("2011-12-31")), change, change + HOUR) == "all"
    # As far as the edges show, the day between the two may occur.
    assert verdict(is_(date, day("2011-12-28")), change - HOUR, change + HOUR) == "none"


def test_skipped_midnight_is_the_moment_of_the_change() -> None:
    change = CHANGES["midnight that is skipped"][1]
    midnight = call(
        "TruncTimestamp", TIMESTAMP, Literal("DAY", _string()), ts, zone="America/Sao_Paulo"
    )
    assert verdict(is_(midnight, change), change + HOUR, change + 2 * HOUR) != "none"
    assert verdict(is_(midnight, change - DAY), change + HOUR, change + 2 * HOUR) == "none"


def _string() -> DataType:
    parsed = DataType.parse("string")
    assert parsed is not None
    return parsed


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Pacific/Apia", "+05:30", "PST"])
def test_timestamps_before_1900_and_after_9999(zone: str) -> None:
    """Two days from either end of a year it is that year in every zone."""
    year = call("Year", INTEGER, call("Cast", DATE, ts, zone=zone), zone=zone)
    for number, first in (
        (1, day("0001-01-01")),
        (1899, day("1899-01-01")),
        (12_000, FIRST_OF_12000),
    ):
        lower, upper = (first + 2) * DAY, (first + 360) * DAY
        assert verdict(is_(year, number), lower, upper) == "all"
        assert verdict(is_(year, number + 1), lower, upper) == "none"
        assert verdict(is_(year, number - 1), (first - 2) * DAY, (first + 2) * DAY) != "none"


def test_local_mean_time_comes_from_the_table_only() -> None:
    """Until 1883 New York was 4:56:02 behind UTC. Editions of zoneinfo differ there."""
    name = "America/New_York"
    hour = Call(
        "Hour", (ts,), (("timeZoneId", name), ("zoneTable", "-17762;-2717650800:-18000")), INTEGER
    )
    noon = micros("1850-06-01 12:00:00")
    assert verdict(is_(hour, 7), noon, noon) == "all"  # 07:03:58
    assert verdict(is_(call("Hour", INTEGER, ts, zone=name), 7), noon, noon) == "some"


def test_days_are_added_after_a_gap_that_the_months_lead_to() -> None:
    """2018-05-04 23:45 was skipped, and becomes 2018-05-05 00:15 before the day is added."""
    zone = "Asia/Pyongyang"
    both = Literal(CalendarInterval(1, 1, 0), CALENDAR_INTERVAL)
    moved = call("TimestampAddInterval", TIMESTAMP, ts, both, zone=zone)
    before = micros("2018-04-04 15:15:00")  # 23:45 in Pyongyang
    assert verdict(is_(moved, micros("2018-05-05 15:15:00")), before, before) != "none"
    assert verdict(is_(moved, micros("2018-05-06 15:15:00")), before, before) == "none"


def test_text_is_known_from_1900_to_2036_where_clocks_change() -> None:
    """Elsewhere java.util.TimeZone (timeParserPolicy LEGACY) differs from java.time in some zones."""
    pattern = Literal("yyyy-MM-dd HH", STRING)
    early, late = micros("2036-06-01 12:00:00"), micros("2050-06-01 12:00:00")
    first = micros("1899-12-31 23:00:00")
    seconds = Column(("c",), LONG)
    for region, later in (("Africa/Windhoek", "some"), ("+02:00", "none")):
        for name, column, unit in (("DateFormatClass", ts, 1), ("FromUnixTime", seconds, SECOND)):
            text = call(name, STRING, column, pattern, zone=region)
            at = [each // unit for each in (early, late, first)]
            assert verdict(is_(text, "2036-06-01 14"), at[0], at[0], column) == "all"
            assert verdict(is_(text, "2036-06-01 13"), at[0], at[0], column) == "none"
            assert verdict(is_(text, "2050-06-01 13"), at[1], at[1], column) == later
            assert verdict(is_(text, "1899-12-31 23"), at[2], at[2], column) == later
    local = call("DateFormatClass", STRING, ntz, pattern, zone="Africa/Windhoek")
    assert verdict(is_(local, "2050-06-01 12"), late, late, ntz) == "all"


def test_timestamp_ntz_ignores_the_zone() -> None:
    hour = call("Hour", INTEGER, ntz, zone="America/New_York")
    assert verdict(is_(hour, 2), *[micros("2024-03-10 02:30:00")] * 2, column=ntz) == "all"
    assert verdict(is_(hour, 21), *[micros("2024-03-10 02:30:00")] * 2, column=ntz) == "none"


@pytest.mark.parametrize("table", ["", "x", "3600;1:2:3", "3600;5:1,4:2", "99999999;", "3600;0:x"])
def test_inconsistent_table_is_ignored(table: str) -> None:
    options = (("timeZoneId", "+01:00"), ("zoneTable", table))
    assert zone_of(Call("Hour", (), options, INTEGER)).offsets.tolist() == [HOUR]
