import pytest

import tamis.conf
from tamis.errors import ConfError

ACCEPTED = [
    # key, input of SET or --conf, typed value
    ("spark.tamis.enabled", "true", True),
    ("spark.tamis.enabled", " False ", False),
    ("spark.tamis.enabled", False, False),
    ("spark.tamis.mode", "observe", "observe"),
    ("spark.tamis.timeoutMs", "1", 1),
    ("spark.tamis.timeoutMs", 2147483647, 2147483647),
    ("spark.tamis.python", "/opt/python", "/opt/python"),
]

REFUSED = [
    # key, value, part of the message
    ("spark.tamis.enabled", "yes", "spark.tamis.enabled: 'yes' is not a boolean"),
    ("spark.tamis.enabled", 1, "1 is not a boolean"),
    ("spark.tamis.mode", "Apply", "'Apply' is not one of apply, observe, off"),
    ("spark.tamis.timeoutMs", "0", "'0' is not an int, at least 1"),
    ("spark.tamis.timeoutMs", "5s", "'5s' is not an int"),
    ("spark.tamis.timeoutMs", "5_000", "'5_000' is not an int"),
    ("spark.tamis.timeoutMs", True, "True is not an int"),
    ("spark.tamis.timeoutMs", 2147483648, "2147483648 is not an int"),
    ("spark.tamis.python", None, "None is not a string"),
    ("spark.tamis.enable", "true", "did you mean spark.tamis.enabled?"),
    ("spark.master", "local", "no such conf"),
]


@pytest.mark.parametrize(("key", "value", "meaning"), ACCEPTED)
def test_value_is_converted_to_its_type(key, value, meaning):
    checked = tamis.conf.check(key, value)
    assert (type(checked), checked) == (type(meaning), meaning)


@pytest.mark.parametrize(("key", "value", "message"), REFUSED)
def test_error_lists_the_allowed_values(key, value, message):
    with pytest.raises(ConfError) as refusal:
        tamis.conf.check(key, value)
    assert message in str(refusal.value)


def test_defaults_are_allowed_values():
    for entry in tamis.conf.registry().values():
        if entry.default is not None:
            assert tamis.conf.check(entry.key, tamis.conf.default_text(entry)) == entry.default


def test_every_entry_is_documented():
    for entry in tamis.conf.registry().values():
        assert entry.key.startswith("spark.tamis.")
        assert entry.doc.endswith(".")
        assert "|" not in entry.doc  # a cell of a Markdown table
        assert bool(entry.values) == (entry.type is tamis.conf.ValueType.ENUM)


def test_keys_are_unique():
    assert len(tamis.conf.registry()) == len(tamis.conf.documents())


def test_docs_are_generated_from_the_registry(repository):
    committed = (repository / "docs" / "conf.md").read_text("utf-8")
    assert committed == tamis.conf.to_markdown()
