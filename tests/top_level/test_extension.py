"""The jar, the confs and Spark together."""

import pytest
from pyspark.errors import PySparkException

import tamis.conf


def test_extension_is_loaded(spark):
    assert spark.conf.get("spark.sql.extensions") == "io.tamis.TamisExtensions"
    assert spark.range(3).count() == 3


def test_every_conf_is_known_to_spark_with_its_default(spark):
    for key in tamis.conf.registry():
        spark.conf.unset(key)  # the value that the tests set for all of them
    listed = {row.key: row.value for row in spark.sql("SET -v").collect()}
    for entry in tamis.conf.registry().values():
        default = "<undefined>" if entry.default is None else tamis.conf.default_text(entry)
        assert listed.get(entry.key) == default, entry.key
        assert not listed.keys() & set(entry.alternatives)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.tamis.enabled", "maybe"),
        ("spark.tamis.mode", "on"),
        ("spark.tamis.timeout", "0"),
        ("spark.tamis.timeout", "soon"),
        ("spark.tamis.timeoutMs", "soon"),
        ("spark.tamis.history.maxSize", "1.5g"),
    ],
)
def test_spark_refuses_what_the_registry_refuses(spark, key, value):
    with pytest.raises(PySparkException, match=key):
        spark.sql(f"SET {key} = {value}")


def test_alternative_key_sets_the_conf(spark):
    spark.conf.unset("spark.tamis.timeout")
    spark.conf.set("spark.tamis.timeoutMs", "250")
    assert spark.conf.get("spark.tamis.timeout") == "250"
    spark.conf.set("spark.tamis.timeout", "5s")
    assert spark.conf.get("spark.tamis.timeout") == "5s"
