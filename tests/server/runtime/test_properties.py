r"""java.util.Properties' rules, each with the text that shows it."""

import pytest

from mqserver.runtime.properties import BadProperties, format_properties, parse_properties


def pairs(text: str) -> list[tuple[str, str]]:
    return [(entry.key, entry.value) for entry in parse_properties(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", [("a", "b")]),
        ("a = b ", [("a", "b ")]),
        ("a:b", [("a", "b")]),
        ("a b", [("a", "b")]),
        ("a\t=\tb", [("a", "b")]),
        ("a==b", [("a", "=b")]),
        ("a", [("a", "")]),
        ("=b", [("", "b")]),
        ("  a=b", [("a", "b")]),
        ("# no\n! no\n\n \na=b", [("a", "b")]),
        ("a=b # not a comment", [("a", "b # not a comment")]),
        ("a=b\\\n   c", [("a", "bc")]),
        ("a=b\\\\\nc=d", [("a", "b\\"), ("c", "d")]),
        ("a=b\\\n# c", [("a", "b# c")]),
        ("a=b\\\n", [("a", "b")]),
        ("a=\\\n\nc=d", [("a", ""), ("c", "d")]),
        ("a\\=b=c", [("a=b", "c")]),
        ("a\\ b=c", [("a b", "c")]),
        ("a=\\t\\n\\r\\f\\x\\\\", [("a", "\t\n\r\fx\\")]),
        ("a=\\u0041\\u4e2d", [("a", "A中")]),
        ("a=b\r\nc=d\re=f", [("a", "b"), ("c", "d"), ("e", "f")]),
        ("a=1\na=2", [("a", "1"), ("a", "2")]),
        ("a=b\\", [("a", "b")]),
        ("namesrvAddr=a:1;b:2", [("namesrvAddr", "a:1;b:2")]),
        ("", []),
    ],
)
def test_parse(text: str, expected: list[tuple[str, str]]) -> None:
    assert pairs(text) == expected


def test_an_entry_knows_the_line_it_starts_on() -> None:
    entries = parse_properties("# one\na=1\\\n 2\n\nb=3\n")

    assert [(entry.key, entry.value, entry.line) for entry in entries] == [
        ("a", "12", 2),
        ("b", "3", 5),
    ]


@pytest.mark.parametrize("text", ["\n\na=\\u12", "\n\na=\\u12zz", "\n\n\\u=a", "\n\na=\\u-123"])
def test_a_bad_unicode_escape_names_its_line(text: str) -> None:
    with pytest.raises(BadProperties, match="line 3"):
        parse_properties(text)


@pytest.mark.parametrize("value", ["x", "", " x", "a\\b", "a\nb", "a=b:c #", "中", "\tx", "!x"])
@pytest.mark.parametrize("key", ["k", "a b", "a=b", "#k", "a:b", "!k", "a\\b"])
def test_what_is_written_reads_back(key: str, value: str) -> None:
    assert pairs(format_properties([(key, value)])) == [(key, value)]
