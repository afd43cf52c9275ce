import pytest

import tamis.conf
from tamis.conf import ValueType
from tamis.errors import ConfError

DAY_MS = 86_400_000

ACCEPTED = [
    # key, input of SET or --conf, typed value
    ("spark.tamis.enabled", "true", True),
    ("spark.tamis.enabled", " False ", False),
    ("spark.tamis.enabled", False, False),
    ("spark.tamis.mode", "observe", "observe"),
    ("spark.tamis.mode", " OFF ", "off"),
    ("spark.tamis.timeout", "1", 1),
    ("spark.tamis.timeout", 250, 250),
    ("spark.tamis.timeout", " 5S ", 5000),
    ("spark.tamis.timeoutMs", "250", 250),
    ("spark.tamis.residualSplit.minSaved", "0", 0),
    ("spark.tamis.history.maxAge", "90", 90 * DAY_MS),
    ("spark.tamis.history.maxAge", "36h", 36 * 3_600_000),
    ("spark.tamis.history.maxAgeDays", "7", 7 * DAY_MS),
    ("spark.tamis.history.maxSize", "2g", 2 << 30),
    ("spark.tamis.history.maxMegabytes", 64, 64 << 20),
    ("spark.tamis.impliedFilters", "false", False),
    ("spark.tamis.cache.dir", "/c", "/c"),
    ("spark.tamis.audit", 2147483647, 2147483647),
    ("spark.tamis.python", "/opt/python", "/opt/python"),
]

REFUSED = [
    # key, value, part of the message
    ("spark.tamis.enabled", "yes", "spark.tamis.enabled = 'yes': must be true or false"),
    ("spark.tamis.enabled", 1, "= 1: must be true or false"),
    ("spark.tamis.mode", "on", "'on': must be one of apply, observe, off"),
    ("spark.tamis.mode", False, "False: must be one of apply, observe, off"),
    ("spark.tamis.timeout", "0", "'0': must be a time of at least 1ms, such as 5s"),
    ("spark.tamis.timeout", "500us", "'500us': must be a time of at least 1ms"),
    ("spark.tamis.timeout", "5 s", "'5 s': must be a time"),
    ("spark.tamis.timeout", True, "True: must be a time"),
    ("spark.tamis.timeoutMs", "soon", "spark.tamis.timeoutMs = 'soon': must be a time"),
    ("spark.tamis.history.maxSize", "1.5g", "'1.5g': must be a size of at least 1m"),
    ("spark.tamis.history.maxSize", "900k", "'900k': must be a size of at least 1m, such as 64m"),
    ("spark.tamis.audit", "5_000", "'5_000': must be a whole number of at least 0"),
    ("spark.tamis.audit", True, "True: must be a whole number"),
    ("spark.tamis.audit", 2147483648, "2147483648: must be a whole number"),
    ("spark.tamis.python", None, "None: must be a string"),
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
            tamis.conf.check(entry.key, tamis.conf.default_text(entry))


def test_numbers_alone_have_the_unit_of_the_default():
    for entry in tamis.conf.registry().values():
        assert bool(entry.unit) == (entry.type in (ValueType.TIME, ValueType.BYTES)), entry.key


def test_switches_end_in_enabled():
    for entry in tamis.conf.registry().values():
        assert (entry.type is ValueType.BOOLEAN) == entry.key.endswith(".enabled"), entry.key


def test_every_entry_is_documented():
    for entry in tamis.conf.registry().values():
        assert entry.key.startswith("spark.tamis.")
        assert entry.doc.endswith(".")
        assert "|" not in entry.doc  # a cell of a Markdown table
        assert bool(entry.values) == (entry.type is ValueType.ENUM)


def test_keys_are_unique():
    assert len(tamis.conf.registry()) == len(tamis.conf.documents())
    keys = [key for e in tamis.conf.registry().values() for key in (e.key, *e.alternatives)]
    assert len(set(keys)) == len(keys)


def test_docs_are_generated_from_the_registry(repository):
    committed = (repository / "docs" / "conf.md").read_text("utf-8")
    assert committed == tamis.conf.to_markdown()
