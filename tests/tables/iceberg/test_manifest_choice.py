"""Which manifests are read, given those that a query needs and those that are listed already."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.tables.iceberg.manifest_choice import choose


def flags(places: str) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return np.array([each == "x" for each in places])


@pytest.mark.parametrize(
    ("files", "needed", "known", "read", "serving"),
    [
        ([5, 5, 5], "x..", [], "x..", None),
        ([5, 5, 5], "...", [], "...", None),
        ([5, 5, 5], "xxx", [], None, None),
        ([5, 0, 5], "x.x", [], None, None),  # the other one has no file
        ([5, 0, 5], "xx.", [], "x..", None),
        ([5, None, 5], "x..", [], None, None),
        ([5, 5, 5], "x..", ["xx."], "xx.", 0),
        ([5, 5, 5], "x..", ["xx.", "x.."], "x..", 1),  # the smaller one
        ([5, 5, 5], "...", ["x.."], "x..", 0),
        ([5, 5, 9, 9], "x...", [".x.."], "xx..", None),  # merged: it is no larger
        ([5, 9, 9, 9], "x...", [".x.."], "x...", None),
        ([5, 5, 9, 9], "x...", [".x..", "..x."], "xxx.", None),  # one after the other
        ([5, 5, 9], "x..", [".x.", "..x"], None, None),
    ],
)
def test_choices(
    files: list[int | None], needed: str, known: list[str], read: str | None, serving: int | None
) -> None:
    choice = choose(files, flags(needed), [flags(each) for each in known])
    assert choice.known == serving
    if read is None:
        assert choice.manifests is None
    else:
        assert choice.manifests is not None
        assert choice.manifests.tolist() == flags(read).tolist()


@given(st.data())
def test_needed_manifests_are_always_read_and_others_only_if_they_were(data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 6))
    sets = st.lists(st.booleans(), min_size=count, max_size=count).map(
        lambda each: np.array(each, bool)
    )
    files = data.draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
    needed, known = data.draw(sets), data.draw(st.lists(sets, max_size=4))
    choice = choose(files, needed, known)
    has_files = np.array(files, int) > 0
    read = np.ones(count, bool) if choice.manifests is None else choice.manifests
    assert not (needed & has_files & ~read).any()
    opened = needed | (np.any(known, axis=0) if known else np.zeros(count, bool))
    assert not (read & has_files & ~opened).any()
