"""The filters after a pipe."""

import json

import pytest

from mqadmin.errors import ItemNotFound, Usage
from mqadmin.shell.filters import stage_of

TEXT = "beta\nalpha\nalpha\ngamma\n"
ROWS = json.dumps([{"topic": "T", "at": {"q": [1, 2]}}, {"topic": "U", "at": {"q": [3]}}])


def apply(text: str, words: list[str]) -> str:
    """Return a text after the filter that ``words`` name."""
    stage = stage_of(words)
    out = [made for line in text.splitlines(keepends=True) for made in stage.line(line)]
    return "".join([*out, *stage.end()])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("grep a$", "beta\nalpha\nalpha\ngamma\n"),
        ("grep ^a", "alpha\nalpha\n"),
        ("grep -i ALPHA", "alpha\nalpha\n"),
        ("grep -v alpha", "beta\ngamma\n"),
        ("head 1", "beta\n"),
        ("head -n 2", "beta\nalpha\n"),
        ("head -2", "beta\nalpha\n"),
        ("head", TEXT),
        ("tail 1", "gamma\n"),
        ("tail 0", ""),
        ("sort", "alpha\nalpha\nbeta\ngamma\n"),
        ("sort -r", "gamma\nbeta\nalpha\nalpha\n"),
        ("uniq", "beta\nalpha\ngamma\n"),
        ("count", "4\n"),
    ],
)
def test_a_filter_changes_lines(words: str, expected: str) -> None:
    assert apply(TEXT, words.split()) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("topic", "T\nU\n"),
        ("[0].topic", "T\n"),
        ("[-1].topic", "U\n"),
        ("[].at.q[0]", "1\n3\n"),
        (".at.q[]", "1\n2\n3\n"),
    ],
)
def test_json_walks_a_path(path: str, expected: str) -> None:
    assert apply(ROWS, ["json", path]) == expected


def test_record_shows_a_row_as_a_block() -> None:
    assert apply('[{"topic": "T", "size": 1}]', ["record"]) == "-- 1 --\ntopic: T\nsize:  1\n"
    assert apply("", ["record"]) == ""


def test_json_alone_prints_it_indented() -> None:
    assert json.loads(apply(ROWS, ["json"])) == json.loads(ROWS)
    assert apply("", ["json"]) == ""


@pytest.mark.parametrize("path", ["nope", "[7]", "topic.x"])
def test_a_path_that_leads_nowhere_is_not_found(path: str) -> None:
    with pytest.raises(ItemNotFound, match="json: nothing at"):
        apply(ROWS, ["json", path])


@pytest.mark.parametrize(
    "words",
    ["no-such-program x", "grep", "grep a b", "grep (", "head x", "tail 1 2", "sort -k", "count x"],
)
def test_a_wrong_filter_is_refused_by_name(words: str) -> None:
    with pytest.raises(Usage):
        apply(TEXT, words.split())


def test_json_of_a_table_is_refused() -> None:
    with pytest.raises(Usage, match="is not JSON"):
        apply("TOPIC\nT\n", ["json", "topic"])
