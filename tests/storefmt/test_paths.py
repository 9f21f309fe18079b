"""Paths of a store, and names that may not become one."""

from pathlib import Path

import pytest

from storefmt.errors import BadCall
from storefmt.paths import (
    StorePaths,
    check_group_name,
    check_topic_name,
    log_file_name,
    parse_log_file_name,
)
from tests.storefmt.corpus import STORES

BAD_NAMES = ["", ".", "..", "a/b", "../x", "a\\b", "a b", "a\n", "a\0", "тема", "a.b", "~", "a@b"]


@pytest.mark.parametrize("name", STORES)
def test_golden_stores_lie_where_the_paths_say(corpus, name: str) -> None:
    paths = StorePaths(corpus(name).root)

    for line in corpus(name).golden.jsonl(name, "cq"):
        queue = paths.queue_dir(line["topic"], int(line["queueId"]))
        assert (queue / line["file"]).is_file()
    for row in corpus(name).rows:
        assert (paths.commitlog / row["file"]).is_file()
        assert log_file_name(row["phy"] - row["pos"]) == row["file"]
        assert parse_log_file_name(row["file"]) == row["phy"] - row["pos"]
    assert paths.checkpoint.is_file()
    assert paths.config_file("topics.json").is_file()
    assert paths.index.is_dir()


def test_other_parts_have_the_names_java_gives() -> None:
    paths = StorePaths(Path("s"))

    assert [paths.abort, paths.lock, paths.queue_ext_dir("t", 3)] == [
        Path("s/abort"),
        Path("s/lock"),
        Path("s/consumequeue_ext/t/3"),
    ]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_name_that_could_leave_its_directory_is_refused(name: str) -> None:
    for check in (check_topic_name, check_group_name):
        with pytest.raises(BadCall):
            check(name)
    with pytest.raises(BadCall):
        StorePaths(Path("s")).queue_dir(name, 0)


@pytest.mark.parametrize("name", ["a", "%RETRY%g", "A|b_c-9", "t" * 127])
def test_name_that_java_allows_is_allowed(name: str) -> None:
    assert check_topic_name(name) == name
    assert check_group_name(name) == name


def test_name_is_limited_in_length() -> None:
    assert check_group_name("g" * 255)
    assert check_topic_name("t" * 255, size_max=255)
    for check, size in ((check_topic_name, 128), (check_group_name, 256)):
        with pytest.raises(BadCall, match="at most"):
            check("t" * size)


def test_negative_queue_has_no_directory() -> None:
    with pytest.raises(BadCall, match="negative"):
        StorePaths(Path("s")).queue_dir("t", -1)


@pytest.mark.parametrize("name", ["1", "0" * 19, "0" * 21, "0" * 19 + "x", "0" * 19 + "²", "x"])
def test_foreign_file_name_tells_no_offset(name: str) -> None:
    assert parse_log_file_name(name) is None


@pytest.mark.parametrize("offset", [-1, 10**20])
def test_offset_without_a_name_is_refused(offset: int) -> None:
    with pytest.raises(BadCall):
        log_file_name(offset)
