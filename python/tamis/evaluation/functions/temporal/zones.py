"""Time zones: bounds of the local times of an interval of moments, and the reverse.

    local(t) = t + offset(t)        not monotone: it decreases where clocks are set back
    utc(l) = l - offset             not monotone: for l in a gap (clocks set forward), java.time
                                    uses the offset before the gap, so utc decreases at its end

Between transitions, both add a constant to the argument. So their extremes over an interval are at
its ends and at the transitions inside it. Finding them takes two searches in a table per edge,
regardless of the length of the interval.

The table has the transitions up to 2099. Spark's JVM sends it with the call, because editions of
the time zone database differ. After 2099 the offset may be anything from the least to the greatest.
Calls without a table use Python's zones. These are exact from 1970 on. Before 1970, where editions
differ most, the offset may be anything from three hours below the least offset of the zone to three
hours above the greatest. For a zone that is not found, or whose name is an abbreviation and not a
region, the offset may be anything that java.time allows: -18 to +18 hours. All values are in
microseconds.
"""

from __future__ import annotations

import bisect
import datetime
import re
import zoneinfo
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from tamis.evaluation.domain.interval import Numbers
from tamis.evaluation.functions.arithmetic import int64_overflow
from tamis.expr.nodes import Call

__all__ = ["DAY", "HOUR", "SECOND", "UNIT_LENGTHS", "Zone", "zone", "zone_of"]

SECOND: Final = 1_000_000
HOUR: Final = 3_600 * SECOND
DAY: Final = 24 * HOUR
#: Units of timestampdiff that have a fixed length, in microseconds.
UNIT_LENGTHS: Final = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": SECOND,
    "MINUTE": 60 * SECOND,
    "HOUR": HOUR,
    "DAY": DAY,
    "DAYOFYEAR": DAY,
    "WEEK": 7 * DAY,
}
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_FIRST: Final = 0
_LAST: Final = (datetime.date(2100, 1, 1) - datetime.date(1970, 1, 1)).days * DAY
#: From 1900 to 2036, less a day at either end: local times differ from UTC by less than a day.
_LEGACY: Final = (-25_566 * DAY, 24_471 * DAY - 1)  # 1900-01-02 and 2036-12-30 23:59:59.999999
_FIXED: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d\d):(\d\d)(?::(\d\d))?")
_UTC: Final = frozenset(("UTC", "Z", "GMT", "UT", "Etc/UTC", "Etc/GMT", "Zulu", "Etc/Zulu"))
_ANY: Final = 18 * HOUR
_BEFORE_1970: Final = 3 * HOUR

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Zone:
    """A table of offsets from `first` to 2099.

    offsets[k] is in force from moments[k - 1] up to, but not including, moments[k].
    """

    moments: Longs
    offsets: Longs
    #: The least and greatest offset before `first`, and the same after 2099.
    early: tuple[int, int]
    late: tuple[int, int]
    first: int = _FIRST

    @property
    def is_known(self) -> bool:
        """Whether there is such a zone, as far as Python or the JVM knows."""
        return True

    @property
    def is_fixed(self) -> bool:
        return len(self.moments) == 0 and self.early[0] == self.early[1]

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest offset at any time.

        >>> [each // HOUR for each in _from_table("3600;0:7200,86400:3600").range]
        [1, 2]
        """
        least, most = int(self.offsets.min()), int(self.offsets.max())
        return min(least, self.early[0], self.late[0]), max(most, self.early[1], self.late[1])

    @property
    def legacy(self) -> tuple[int, int]:
        """The first and last local time at which java.util.TimeZone has the same offsets.

        Spark's formats use java.util.TimeZone if timeParserPolicy is LEGACY. From 2037 on it has
        other offsets in five zones: it sets the clocks in Windhoek, for example, where java.time
        does not. Before 1900 UTC it has no local mean time, which 16 zones still used.
        """
        return (_LEAST, _GREATEST) if self.is_fixed else _LEGACY

    def local(self, lower: Numbers, upper: Numbers) -> tuple[Numbers, Numbers]:
        """Return bounds of the local times of the moments from lower to upper; clipped to 64 bits.

        >>> new_york = zone("America/New_York")
        >>> fall_back = np.array([1_730_613_600 * SECOND])  # 2024-11-03 06:00 UTC
        >>> low, high = new_york.local(fall_back - 1, fall_back)
        >>> int((high - low)[0]) == HOUR - 1
        True
        """
        if self.is_fixed:
            return _plus(lower, upper, self.early[0])
        lowest, highest = self._plus_offset(lower, upper)
        if len(self.moments):
            after = np.searchsorted(self.moments, lower, "right")
            # The local time right after a transition, with which a piece begins.
            begins = self.moments + self.offsets[1:]
            least_from = np.append(np.minimum.accumulate(begins[::-1])[::-1], _GREATEST)
            inside = np.append(self.moments, _GREATEST)[after] <= upper
            lowest = np.where(inside, np.minimum(lowest, least_from[after]), lowest)
            upto = np.searchsorted(self.moments, upper, "right")
            # The local time right before a transition, with which a piece ends.
            ends = self.moments - 1 + self.offsets[:-1]
            greatest_to = np.insert(np.maximum.accumulate(ends), 0, _LEAST)
            inside = np.insert(self.moments, 0, _LEAST)[upto] > lower
            highest = np.where(inside, np.maximum(highest, greatest_to[upto]), highest)
        # An interval that crosses an end of the table: include the local times beyond it.
        crosses = (lower < self.first) & (upper >= self.first)
        highest = np.where(crosses, np.maximum(highest, self.early[1] - 1), highest)
        crosses = (lower < _LAST) & (upper >= _LAST)
        lowest = np.where(crosses, np.minimum(lowest, _LAST + self.late[0]), lowest)
        return lowest, highest

    def _plus_offset(self, lower: Numbers, upper: Numbers) -> tuple[Numbers, Numbers]:
        early, late = self.early, self.late
        at_lower = self.offsets[np.searchsorted(self.moments, lower, "right")]
        at_upper = self.offsets[np.searchsorted(self.moments, upper, "right")]
        at_lower = np.where(
            lower < self.first, early[0], np.where(lower >= _LAST, late[0], at_lower)
        )
        at_upper = np.where(
            upper < self.first, early[1], np.where(upper >= _LAST, late[1], at_upper)
        )
        return int64_overflow.clipped_add(lower, at_lower), int64_overflow.clipped_add(
            upper, at_upper
        )

    def utc(self, lower: Numbers, upper: Numbers) -> tuple[Numbers, Numbers]:
        """Return bounds of the moments of the local times from lower to upper; clipped to 64 bits.

        A local time in a gap may also denote the moment of the transition, because java.time starts
        a day whose midnight is skipped there. A local time that occurs twice may denote either of
        its two moments, because java.time keeps the offset when it shifts a moment.
        """
        if self.is_fixed:
            return _plus(lower, upper, -self.early[0])
        before, after = self.offsets[:-1], self.offsets[1:]
        # Piece k begins at the local time that is past the transition in both offsets.
        starts = self.moments + np.maximum(before, after)
        at_lower = self.offsets[np.searchsorted(starts, lower, "right")]
        # The later of two moments: use the new offset from the first local time that it covers.
        at_upper = self.offsets[np.searchsorted(self.moments + after, upper, "right")]
        early, late = self.early, self.late
        # Within a day of an end of the table, use the offsets beyond it: offsets are below a day.
        is_early, is_late = lower < self.first + DAY, lower >= _LAST - DAY
        at_lower = np.where(is_early, early[1], np.where(is_late, late[1], at_lower))
        is_early, is_late = upper < self.first + DAY, upper >= _LAST - DAY
        at_upper = np.where(is_early, early[0], np.where(is_late, late[0], at_upper))
        lowest = int64_overflow.clipped_add(lower, -at_lower)
        highest = int64_overflow.clipped_add(upper, -at_upper)
        gap = after > before
        if gap.any():
            moments, ends, length = self.moments[gap], starts[gap], (after - before)[gap]
            following = np.searchsorted(ends, lower, "right")
            begins = np.append(ends - length, _GREATEST)[following]
            moment = np.append(moments, _GREATEST)[following]
            lowest = np.where(begins <= upper, np.minimum(lowest, moment), lowest)
            passed = np.searchsorted(ends, upper, "right")
            inside = np.insert(ends, 0, _LEAST)[passed] > lower
            last = np.insert(moments + length - 1, 0, _LEAST)[passed]
            highest = np.where(inside, np.maximum(highest, last), highest)
        crosses = (lower < self.first + DAY) & (upper >= self.first + DAY)
        highest = np.where(crosses, np.maximum(highest, self.first + DAY - 1 - early[0]), highest)
        crosses = (lower < _LAST - DAY) & (upper >= _LAST - DAY)
        lowest = np.where(crosses, np.minimum(lowest, _LAST - DAY - late[1]), lowest)
        return lowest, highest

    def constant(self, lower: Numbers, upper: Numbers) -> tuple[Longs, npt.NDArray[np.bool_]]:
        """Return the offset in force at `lower`, and where it is known and lasts until `upper`."""
        first = np.searchsorted(self.moments, lower, "right")
        last = np.searchsorted(self.moments, upper, "right")
        if self.is_fixed:
            return self.offsets[first], np.ones(len(first), np.bool_)
        return self.offsets[first], (first == last) & (lower >= self.first) & (upper < _LAST)


_LEAST, _GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def _plus(lower: Numbers, upper: Numbers, offset: int) -> tuple[Numbers, Numbers]:
    if offset == 0:
        return lower, upper
    by = np.array([offset])
    return int64_overflow.clipped_add(lower, by), int64_overflow.clipped_add(upper, by)


def _fixed(least: int, greatest: int) -> Zone:
    offsets = np.array([least], np.int64)
    return Zone(np.array([], np.int64), offsets, (least, greatest), (least, greatest))


@dataclass(frozen=True, slots=True, eq=False)
class _AnyZone(Zone):
    """A zone with unknown offsets: any offset from early[0] to early[1]."""

    @property
    def is_known(self) -> bool:
        return False

    def local(self, lower: Numbers, upper: Numbers) -> tuple[Numbers, Numbers]:
        ends = np.array([self.early[0]]), np.array([self.early[1]])
        return int64_overflow.clipped_add(lower, ends[0]), int64_overflow.clipped_add(
            upper, ends[1]
        )

    utc = local

    def constant(self, lower: Numbers, upper: Numbers) -> tuple[Longs, npt.NDArray[np.bool_]]:
        return np.zeros(len(lower), np.int64), np.zeros(len(lower), np.bool_)


@lru_cache(maxsize=64)
def zone(name: object) -> Zone:
    """Return the zone with this id in Spark; if not found, one with any offset that Java allows.

    >>> zone("+05:30").offsets.tolist() == [int(5.5 * HOUR)]
    True
    >>> zone("PST").early == (-18 * HOUR, 18 * HOUR)
    True
    """
    if name in _UTC:
        return _fixed(0, 0)
    match = _FIXED.fullmatch(name) if isinstance(name, str) else None
    if match is not None:
        seconds = int(match[2]) * 3600 + int(match[3]) * 60 + int(match[4] or 0)
        offset = seconds * SECOND * (-1 if match[1] == "-" else 1)
        return _fixed(offset, offset)
    region = _region(name) if isinstance(name, str) and "/" in name else None
    if region is not None:
        return region
    none = np.array([], np.int64)
    return _AnyZone(none, np.array([0], np.int64), (-_ANY, _ANY), (-_ANY, _ANY))


def zone_of(call: Call) -> Zone:
    """Return the zone of a call: from the table in the call, or else by its name."""
    table = call.option("zoneTable")
    return (_from_table(table) if isinstance(table, str) else None) or zone(
        call.option("timeZoneId")
    )


@lru_cache(maxsize=64)
def _from_table(text: str) -> Zone | None:
    """Parse "first offset;moment:offset,…" in seconds; return None for anything else.

    >>> table = _from_table("3600;0:7200,86400:3600")
    >>> table.moments.tolist() == [0, DAY], (table.offsets // SECOND).tolist()
    (True, [3600, 7200, 3600])
    """
    try:
        first, _, rest = text.partition(";")
        pairs = [pair.split(":") for pair in rest.split(",") if pair]
        moments = [int(moment) * SECOND for moment, _ in pairs]
        offsets = [int(offset) * SECOND for offset in (first, *(offset for _, offset in pairs))]
    except ValueError:
        return None
    if moments != sorted(moments) or max(map(abs, offsets)) > _ANY:
        return None
    # Reject transitions so close together that their local times are not in ascending order: the
    # searches need ascending order.
    starts = [
        moment + max(pair) for moment, *pair in zip(moments, offsets, offsets[1:], strict=False)
    ]
    ends = [moment + after for moment, after in zip(moments, offsets[1:], strict=True)]
    if starts != sorted(starts) or ends != sorted(ends):
        return None
    recent = offsets[-5:]  # standard and daylight saving time, if they still alternate
    return Zone(
        np.array(moments, np.int64),
        np.array(offsets, np.int64),
        (offsets[0], offsets[0]),
        (min(recent), max(recent)),
        first=_LEAST,
    )


def _region(name: str) -> Zone | None:
    try:
        info = zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return None
    moments, offsets = _transitions(info)
    # Before 1970: probe every five days, back to local mean time.
    old = [_offset(info, -days * DAY) for days in range(0, 40_000, 5)]
    least, greatest = min(old + offsets), max(old + offsets)
    return Zone(
        np.array(moments, np.int64),
        np.array(offsets, np.int64),
        (least - _BEFORE_1970, greatest + _BEFORE_1970),
        (least, greatest),
    )


def _offset(info: zoneinfo.ZoneInfo, moment: int) -> int:
    at = _EPOCH + datetime.timedelta(microseconds=moment)
    return int(at.astimezone(info).utcoffset() / datetime.timedelta(microseconds=1))  # type: ignore[operator]


def _transitions(info: zoneinfo.ZoneInfo) -> tuple[list[int], list[int]]:
    """Return the transitions from 1970 to 2099, to the second, and the offsets around them."""
    moments: list[int] = []
    offsets = [_offset(info, _FIRST)]
    for day in range(_FIRST, _LAST, DAY):
        while (last := _offset(info, day + DAY)) != offsets[-1]:
            start = moments[-1] if moments and moments[-1] > day else day
            seconds = range(start // SECOND, (day + DAY) // SECOND + 1)
            before = offsets[-1]
            # Find the first second with another offset. The loop repeats for two changes in a day.
            first = bisect.bisect_left(
                seconds, True, key=lambda second: _offset(info, second * SECOND) != before
            )
            moments.append(seconds[first] * SECOND)
            offsets.append(_offset(info, moments[-1]))
            if offsets[-1] == last:
                break
    return moments, offsets
