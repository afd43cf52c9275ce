"""Clocks of synthetic zones, moment by moment, and names of zones."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest

from tamis.evaluation.functions.temporal import zones
from tamis.evaluation.functions.temporal.zones import DAY, HOUR, SECOND, Zone, zone, zone_of
from tamis.expr.nodes import Call, Column, Literal
from tamis.expr.types import INTEGER, STRING, TIMESTAMP
from tests.differential.exact_claims import claim_over, table_over
from tests.evaluation.test_zones import CHANGES, local_time, table_of

LEAST = -(1 << 63)
#: Transitions, and the offsets around them: gaps, overlaps, and several of both.
MADE_UP = {
    "gap": ([20], [0, 6]),
    "overlap": ([20], [5, -2]),
    "there and back": ([20, 40], [0, 6, -3]),
    "back and there": ([15, 40], [3, -4, 3]),
    "two gaps": ([10, 30], [-2, 0, 7]),
    "two overlaps": ([12, 33], [6, 1, 0]),
    "none": ([], [4]),
    "four": ([10, 24, 36, 50], [0, 5, 0, 5, 0]),
}
TIMES = range(62)


def made_up(name: str) -> Zone:
    moments, offsets = MADE_UP[name]
    ends = (offsets[0], offsets[0]), (min(offsets[-5:]), max(offsets[-5:]))
    return Zone(np.array(moments, np.int64), np.array(offsets, np.int64), *ends, first=LEAST)


def offset_at(name: str, moment: int) -> int:
    moments, offsets = MADE_UP[name]
    return offsets[sum(each <= moment for each in moments)]


@cache
def moments_of(name: str, local: int) -> tuple[int, ...]:
    """Return the moments of a local time. In a gap: by the offset before, or the gap itself."""
    moments, offsets = MADE_UP[name]
    candidates = [each for each in range(-20, 90) if each + offset_at(name, each) == local]
    if candidates:
        return tuple(candidates)
    place = next(
        place
        for place, moment in enumerate(moments)
        if moment + offsets[place] <= local < moment + offsets[place + 1]
    )
    return local - offsets[place], moments[place]


@pytest.mark.parametrize("name", MADE_UP)
def test_local_time_bounds_are_exact(name: str) -> None:
    pairs = np.array(list(combinations_with_replacement(TIMES, 2)))
    low, high = made_up(name).local(pairs[:, 0], pairs[:, 1])
    for (first, last), lowest, highest in zip(
        pairs.tolist(), low.tolist(), high.tolist(), strict=True
    ):
        local_times = [each + offset_at(name, each) for each in range(first, last + 1)]
        assert (lowest, highest) == (min(local_times), max(local_times)), (first, last)


@pytest.mark.parametrize("name", MADE_UP)
def test_moment_bounds_of_local_times_are_exact(name: str) -> None:
    pairs = np.array(list(combinations_with_replacement(TIMES, 2)))
    low, high = made_up(name).utc(pairs[:, 0], pairs[:, 1])
    for (first, last), lowest, highest in zip(
        pairs.tolist(), low.tolist(), high.tolist(), strict=True
    ):
        moments = [moment for local in range(first, last + 1) for moment in moments_of(name, local)]
        assert (lowest, highest) == (min(moments), max(moments)), (first, last)


@pytest.mark.parametrize("name", MADE_UP)
def test_constant_offset_is_detected(name: str) -> None:
    pairs = np.array(list(combinations_with_replacement(TIMES, 2)))
    offsets, is_constant = made_up(name).constant(pairs[:, 0], pairs[:, 1])
    for (first, last), offset, is_one in zip(
        pairs.tolist(), offsets.tolist(), is_constant.tolist(), strict=True
    ):
        moments, _ = MADE_UP[name]
        assert offset == offset_at(name, first), (first, last)
        assert is_one == (not any(first < each <= last for each in moments)), (first, last)


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        *((each, 0) for each in ("UTC", "Z", "GMT", "UT", "Etc/UTC", "Etc/GMT", "Zulu", "+00:00")),
        ("+05:30", 19_800),
        ("-05:30", -19_800),
        ("UTC+01:00", 3_600),
        ("GMT-03:00", -10_800),
        ("UT+18:00", 64_800),
        ("+01:02:03", 3_723),
        ("-01:02:03", -3_723),
    ],
)
def test_fixed_offset_zones_have_one_offset(name: str, seconds: int) -> None:
    time_zone = zone(name)
    assert time_zone.is_fixed
    low, high = time_zone.local(np.array([7]), np.array([9]))
    assert (low.tolist(), high.tolist()) == ([7 + seconds * SECOND], [9 + seconds * SECOND])
    low, high = time_zone.utc(np.array([7]), np.array([9]))
    assert (low.tolist(), high.tolist()) == ([7 - seconds * SECOND], [9 - seconds * SECOND])
    offsets, is_constant = time_zone.constant(np.array([7]), np.array([9]))
    assert (offsets.tolist(), is_constant.tolist()) == ([seconds * SECOND], [True])


@pytest.mark.parametrize(
    "name", ["PST", "+5:30", "", None, 5, "No/Where", "UTC+1", "utc", "+05:30x"]
)
def test_unknown_zone_allows_any_offset(name: object) -> None:
    time_zone = zone(name)
    for low, high in (
        time_zone.local(np.array([7]), np.array([9])),
        time_zone.utc(np.array([7]), np.array([9])),
    ):
        assert (low.tolist(), high.tolist()) == ([7 - 18 * HOUR], [9 + 18 * HOUR])
    assert not time_zone.constant(np.array([7]), np.array([9]))[1].any()


@pytest.mark.parametrize("near", [LEAST, (1 << 63) - 1])
@pytest.mark.parametrize("name", ["+18:00", "-18:00", "PST", "Europe/Berlin"])
def test_local_times_are_clipped_to_64_bits(name: str, near: int) -> None:
    moment = np.array([near])
    for edges in (zone(name).local(moment, moment), zone(name).utc(moment, moment)):
        for edge in edges:
            assert abs(int(edge[0]) - near) <= 18 * HOUR


@pytest.mark.parametrize(
    "table",
    [
        "x",
        "",
        "0;5",
        "0;5:x",
        "0;10:3600,5:0",
        "70000;",
        "0;100000:70000",
        "0;100:3600,101:0",
        "0;100:3600,200:0",
        "7200;0:0,100:3600",
    ],
)
def test_malformed_zone_table_is_ignored(table: str) -> None:
    assert zone_from(table) is zone("+01:00")


def zone_from(table: str) -> Zone:
    return zone_of(Call("Hour", (), (("timeZoneId", "+01:00"), ("zoneTable", table)), INTEGER))


def test_zone_table_may_have_every_offset_that_java_allows() -> None:
    for offset in (64_800, -64_800):
        assert zone_from(f"{offset};").early == (offset * SECOND, offset * SECOND)


def test_zone_table_may_set_clocks_forward_within_an_overlap() -> None:
    """The local times begin again at 0 and are set forward to 7,300 s, after the overlap's end."""
    time_zone = zone_from("7200;0:0,100:7200")
    assert time_zone.moments.tolist() == [0, 100 * SECOND]


@pytest.mark.parametrize(("hours", "late"), [(range(10), (5, 9)), (range(3), (0, 2))])
def test_offsets_after_the_table_are_among_its_last_five(
    hours: range, late: tuple[int, int]
) -> None:
    day = DAY // SECOND
    changes = ",".join(f"{hour * day}:{hour * 3_600}" for hour in hours[1:])
    assert zone_from(f"0;{changes}").late == (late[0] * HOUR, late[1] * HOUR)


def test_zone_table_is_used() -> None:
    """After its end any recent offset may apply. Before its start the first offset applies."""
    day = DAY // SECOND
    time_zone = zone_from(f"0;0:7200,{100 * day}:3600,{200 * day}:7200")
    for moment, hours in (
        (-1, 0),
        (0, 2),
        (100 * DAY - 1, 2),
        (100 * DAY, 1),
        (200 * DAY, 2),
        (LEAST + DAY, 0),
    ):
        low, high = time_zone.local(np.array([moment]), np.array([moment]))
        assert low.tolist() == high.tolist() == [moment + hours * HOUR]
    late = 4_200_000_000 * SECOND
    low, high = time_zone.local(np.array([late]), np.array([late]))
    assert (low.tolist(), high.tolist()) == ([late], [late + 2 * HOUR])
    assert not time_zone.constant(np.array([late]), np.array([late]))[1].any()


@pytest.mark.parametrize("unit", ["MINUTE", "HOUR"])
@pytest.mark.parametrize("change", CHANGES)
def test_truncation_near_a_clock_change(unit: str, change: str) -> None:
    """Exact if one offset applies from one unit before. Otherwise at most a unit and a day wider."""
    name, moment = CHANGES[change]
    step = HOUR if unit == "HOUR" else HOUR // 60
    spans = [
        (moment + first * HOUR // 4 + extra, moment + last * HOUR // 4 + extra)
        for first, last in combinations_with_replacement(range(-6, 7), 2)
        for extra in (-1, 0, 7)
    ]
    column = Column(("ts",), TIMESTAMP)
    options = (("timeZoneId", name), ("zoneTable", table_of(name)))
    tried = Call("TruncTimestamp", (Literal(unit, STRING), column), options, TIMESTAMP)
    claim = claim_over(tried, table_over((column,), [(each,) for each in spans]))
    for place, (first, last) in enumerate(spans):
        lower, upper = claim.lower[place], claim.upper[place]
        if not first - step < moment <= last:
            expected = [each - local_time(name, each) % step for each in (first, last)]
            assert [lower, upper] == expected, (first - moment, last - moment)
        else:
            assert first - step - DAY <= lower <= first - step, (first - moment, last - moment)
            assert last <= upper <= last + DAY


@pytest.mark.parametrize("name", sorted({name for name, _ in CHANGES.values()}))
def test_transitions_of_a_region_equal_those_of_zoneinfo(name: str) -> None:
    time_zone = zone(name)
    moments, offsets = time_zone.moments.tolist(), time_zone.offsets.tolist()
    assert len(offsets) == len(moments) + 1
    assert moments == sorted(set(moments))
    for place, moment in enumerate(moments):
        assert local_time(name, moment) - moment == offsets[place + 1], moment
        assert local_time(name, moment - 1) - (moment - 1) == offsets[place], moment
        following = moments[place + 1] if place + 1 < len(moments) else moment + 30 * DAY
        for share in (1, 2, 3):
            inside = moment + (following - moment) * share // 4
            assert local_time(name, inside) - inside == offsets[place + 1], inside
    day = DAY // SECOND
    offsets_before_1970 = [
        local_time(name, each * day * SECOND) - each * day * SECOND for each in range(-40_000, 1, 5)
    ]
    least, greatest = min([*offsets_before_1970, *offsets]), max([*offsets_before_1970, *offsets])
    assert time_zone.early == (least - 3 * HOUR, greatest + 3 * HOUR)
    assert time_zone.late == (least, greatest)


@pytest.mark.parametrize("name", ["Europe/Berlin", "America/New_York"])
def test_interval_across_an_end_of_the_table(name: str) -> None:
    """Before 1970 and after 2099 any offset may apply. Between them the table's offset does."""
    time_zone = zone(name)
    first, last = 0, int(np.datetime64("2100-01-01", "D").astype(int)) * DAY
    early, late = time_zone.early, time_zone.late
    start, end = time_zone.offsets.tolist()[0], local_time(name, last - 1) - (last - 1)
    for (low, high), expected in (
        ((-DAY, -1), (-DAY + early[0], -1 + early[1])),
        ((-DAY, 5), (-DAY + early[0], max(5 + start, -1 + early[1]))),
        ((first, 5), (first + start, 5 + start)),
        ((last - 5, last - 1), (last - 5 + end, last - 1 + end)),
        ((last - 5, last + DAY), (min(last - 5 + end, last + late[0]), last + DAY + late[1])),
        ((last, last + DAY), (last + late[0], last + DAY + late[1])),
    ):
        lowest, highest = time_zone.local(np.array([low]), np.array([high]))
        assert (int(lowest[0]), int(highest[0])) == expected, (low, high)


@pytest.mark.parametrize("name", ["Europe/Berlin", "America/New_York"])
def test_local_interval_across_an_end_of_the_table(name: str) -> None:
    """Within a day of either end, the offsets beyond it may apply."""
    time_zone = zone(name)
    first, last = DAY, int(np.datetime64("2099-12-31", "D").astype(int)) * DAY
    early, late = time_zone.early, time_zone.late
    start, end = time_zone.offsets.tolist()[0], local_time(name, last) - last
    for (low, high), expected in (
        ((first - 5, first - 1), (first - 5 - early[1], first - 1 - early[0])),
        ((first - 5, first), (first - 5 - early[1], max(first - start, first - 1 - early[0]))),
        ((first, first + 5), (first - start, first + 5 - start)),
        ((last - 5, last - 1), (last - 5 - end, last - 1 - end)),
        ((last - 5, last), (min(last - 5 - end, last - late[1]), last - late[0])),
        ((last, last + 5), (last - late[1], last + 5 - late[0])),
    ):
        lowest, highest = time_zone.utc(np.array([low]), np.array([high]))
        assert (int(lowest[0]), int(highest[0])) == expected, (low, high)


class MadeUpRegion(datetime.tzinfo):
    """A region whose clocks change at the given seconds since 1970."""

    def __init__(self, changes: Sequence[tuple[int, int]]) -> None:
        self.changes = changes

    def fromutc(self, moment: datetime.datetime) -> datetime.datetime:
        passed = (moment.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)).total_seconds()
        offset = [offset for second, offset in self.changes if second <= passed][-1]
        local = datetime.timezone(datetime.timedelta(seconds=offset))
        return moment.replace(tzinfo=datetime.UTC).astimezone(local)


#: Days with several changes: within the day, at its first second, and at its last second.
@pytest.mark.parametrize(
    "changes",
    [
        [(5_000, 3_600)],
        [(86_400, 3_600), (5 * 86_400, 0)],
        [(5 * 86_400 - 1, 3_600), (8 * 86_400 + 1, 0)],
        [(86_500, 3_600), (90_000, 7_200)],
        [(86_400, 3_600), (86_401, 7_200), (172_799, 10_800), (172_800, 0)],
        [(90_000, 3_600), (95_000, 7_200), (99_000, 0), (100_000, 10_800)],
        [(90_000, 3_600), (200_000, 7_200), (210_000, 0)],
    ],
)
def test_every_change_of_a_day_is_found(
    changes: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    region = MadeUpRegion([(-(10**11), 0), *changes])
    monkeypatch.setattr(zones.zoneinfo, "ZoneInfo", lambda name: region)
    found = zone.__wrapped__("Made/Up")
    assert found.moments.tolist() == [second * SECOND for second, _ in changes]
    assert found.offsets.tolist() == [0, *(offset * SECOND for _, offset in changes)]
