from tamis.recent import Recent


def test_the_value_that_was_needed_least_recently_goes_first() -> None:
    recent = Recent[str](2)
    recent.keep("a", "A")
    recent.keep("b", "B")
    assert recent.get("a") == "A"
    recent.keep("c", "C")
    assert [recent.get(key) for key in "abc"] == ["A", None, "C"]


def test_the_first_value_of_a_key_serves_all_callers() -> None:
    recent = Recent[list[int]](2)

    def made_while_another_thread_makes_it() -> list[int]:
        recent.keep("key", [1])
        return [2]

    assert recent.get_or("key", made_while_another_thread_makes_it) == [1]
    assert recent.get_or("key", lambda: [3]) == [1]


def test_what_is_not_to_be_kept_is_made_again() -> None:
    recent = Recent[int](2)
    assert recent.get_or(None, lambda: 1) == 1
    assert recent.get_or("key", lambda: 1, keeps=lambda: False) == 1
    assert recent.get("key") is None
    assert recent.get_or("key", lambda: 2) == 2


def test_sizes_count_together_and_a_value_that_is_too_large_is_kept_alone() -> None:
    recent = Recent[str](4, len)
    recent.keep("a", "123")
    recent.keep("b", "1")
    assert recent.get("a") == "123"
    recent.keep("a", "1234")  # another value in its place
    assert [recent.get(key) for key in "ab"] == ["1234", None]
    recent.keep("c", "123456")
    assert [recent.get(key) for key in "ac"] == [None, "123456"]
    recent.forget("c")
    recent.forget("c")  # it is not there any more
    recent.keep("d", "1234")
    assert [recent.get(key) for key in "cd"] == [None, "1234"]
