"""Times and sizes in confs mean what Spark makes of them."""

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from tamis.units import to_bytes, to_milliseconds

TIMES = [
    # text, milliseconds where a number alone is in seconds
    ("5", 5_000),
    ("0", 0),
    ("007", 7_000),
    ("999us", 0),
    ("1500us", 1),
    ("-1500us", -1),
    ("5ms", 5),
    ("5s", 5_000),
    ("5m", 300_000),
    ("5min", 300_000),
    ("5h", 18_000_000),
    ("5d", 432_000_000),
    (" 5S ", 5_000),
    ("-1s", -1_000),
    ("9223372036854775807d", 9223372036854775807),
    ("9223372036854775808", None),
    ("", None),
    ("s", None),
    ("5 s", None),
    ("+5s", None),
    ("5.5s", None),
    ("5_000", None),
    ("5w", None),
    ("5sec", None),
    ("1h30m", None),
    ("5s\nx", None),
]

SIZES = [
    # text, bytes where a number alone is in MiB
    ("5", 5 << 20),
    ("0", 0),
    ("5b", 5),
    ("5k", 5 << 10),
    ("5kb", 5 << 10),
    ("5m", 5 << 20),
    ("5mb", 5 << 20),
    ("5g", 5 << 30),
    ("5gb", 5 << 30),
    ("5t", 5 << 40),
    ("5tb", 5 << 40),
    ("5p", 5 << 50),
    ("5pb", 5 << 50),
    (" 5G ", 5 << 30),
    ("8191p", 8191 << 50),
    ("9000p", None),
    ("", None),
    ("-1m", None),
    ("1.5g", None),
    ("5 m", None),
    ("5mib", None),
    ("5e", None),
]


@pytest.mark.parametrize(("text", "milliseconds"), TIMES)
def test_durations_are_parsed(text, milliseconds):
    assert to_milliseconds(text, "s") == milliseconds


@pytest.mark.parametrize(("text", "size"), SIZES)
def test_sizes_are_parsed(text, size):
    assert to_bytes(text, "m") == size


def test_spark_reads_the_same_values(spark):
    jvm = spark._jvm
    units = jvm.org.apache.spark.network.util
    milliseconds = jvm.java.util.concurrent.TimeUnit.MILLISECONDS

    def spark_reads(parse, text, unit):
        # Spark returns a number alone in the unit that it has, so the unit is written out
        with_unit = text.strip() + unit if text.strip()[-1:].isdigit() else text
        try:
            return parse(with_unit)
        except (Py4JJavaError, PySparkException):
            return None

    times = {
        text: spark_reads(lambda t: units.JavaUtils.timeStringAs(t, milliseconds), text, "s")
        for text, _ in TIMES
    }
    sizes = {text: spark_reads(units.JavaUtils.byteStringAsBytes, text, "m") for text, _ in SIZES}
    assert times == dict(TIMES)
    assert sizes == dict(SIZES)
