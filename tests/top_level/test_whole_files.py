from pathlib import Path

import pytest

from tamis.whole_files import writing_whole


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    with writing_whole(path) as unfinished:
        unfinished.write_text("{")
        assert not path.exists()
        unfinished.write_text("{}")
    assert path.read_text() == "{}"
    assert [*tmp_path.iterdir()] == [path]


def test_a_failure_leaves_the_former_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text("old")

    def write_half() -> None:
        with writing_whole(path) as unfinished:
            unfinished.write_text("ne")
            raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        write_half()
    assert path.read_text() == "old"
    assert [*tmp_path.iterdir()] == [path]


def test_two_writers_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    with writing_whole(path) as one, writing_whole(path) as other:
        one.write_text("one")
        other.write_text("other")
    assert path.read_text() == "one"  # the outer one ends last
