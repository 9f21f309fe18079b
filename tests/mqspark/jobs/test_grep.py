"""``grep`` on both engines."""

import re

import pytest
from pyspark.sql import SparkSession

from mqspark.errors import BadOption
from mqspark.jobs import grep
from storefmt.formats.message import Record
from storefmt.formats.sysflag import COMPRESSED, inflate
from tests.golden import Golden
from tests.storefmt.offline.stores import records_in

PATTERN = "[0-9][0-9]"


def given(record: Record) -> bytes:
    return inflate(record.body, record.sys_flag, size_max=1 << 20)


@pytest.mark.parametrize("name", ["basic", "kinds"])
def test_hits_are_those_of_a_plain_search(golden: Golden, name: str) -> None:
    store = golden.store(name)
    expected = [
        one.log_offset for one in records_in(store) if re.search(PATTERN.encode(), given(one))
    ]

    found = grep.rows_of(grep.grep_local(str(store), pattern=PATTERN), pattern=PATTERN)

    assert [hit["log_offset"] for hit in found] == expected
    assert found
    assert len(found) < 1420


def test_what_is_no_expression_is_refused(golden: Golden) -> None:
    with pytest.raises(BadOption, match="no regular expression"):
        grep.grep_local(str(golden.store("basic")), pattern="[")


def test_compressed_bodies_are_searched_as_they_were_given(golden: Golden) -> None:
    store = golden.store("kinds")
    wanted = {
        one.log_offset
        for one in records_in(store)
        if one.sys_flag & COMPRESSED and b"violin" in given(one)
    }

    found = grep.rows_of(grep.grep_local(str(store), pattern="violin4"), pattern="violin4")

    assert wanted
    assert {hit["log_offset"] for hit in found} >= wanted
    assert all("violin4" in hit["excerpt"] for hit in found)


def test_what_matches_can_be_masked(golden: Golden) -> None:
    table = grep.grep_local(str(golden.store("basic")), pattern=PATTERN)

    shown = grep.rows_of(table, pattern=PATTERN)
    masked = grep.rows_of(table, pattern=PATTERN, mask=True)

    assert [hit | {"excerpt": ""} for hit in masked] == [hit | {"excerpt": ""} for hit in shown]
    assert all("***" in hit["excerpt"] for hit in masked)
    assert not any(re.search(PATTERN, hit["excerpt"]) for hit in masked)


@pytest.mark.spark
def test_spark_gives_the_rows_of_the_local_engine(spark: SparkSession, golden: Golden) -> None:
    store = str(golden.store("kinds"))

    there = grep.rows_of(grep.grep(spark, store, pattern=PATTERN).toArrow(), pattern=PATTERN)

    assert there == grep.rows_of(grep.grep_local(store, pattern=PATTERN), pattern=PATTERN)
