"""Properties: Java's lenient reading, and the order of Java's HashMap."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storefmt.errors import BadCall
from storefmt.formats.properties import (
    check_property,
    format_properties,
    hashmap_order,
    parse_properties,
)

NAMES = [f"name-{number * 7919 % 1000}" for number in range(100)]
# java.util.HashMap.keySet() after so many of NAMES were put (OpenJDK 17).
JAVA_ORDERS = {
    5: "0 676 757 838 919",
    12: "433 0 676 514 190 757 271 838 109 352 919 595",
    13: "190 271 28 352 595 433 0 676 514 757 838 109 919",
    24: "190 271 28 380 352 595 461 433 785 0 676 137 299 542 514 866 757 218 623 947 838 109 "
    "704 919",
    25: "56 380 461 785 0 542 866 623 947 109 704 190 271 28 352 595 433 676 137 299 514 757 "
    "218 838 919",
    49: "56 380 461 785 542 866 623 947 109 704 570 137 299 651 894 218 732 975 813 165 760 3 "
    "246 0 489 841 327 922 408 84 190 271 28 193 352 595 274 433 598 676 112 355 514 679 757 "
    "436 838 517 919",
}


@pytest.mark.parametrize("count", JAVA_ORDERS)
def test_hashmap_order_is_that_of_java(count: int) -> None:
    order = hashmap_order(NAMES[:count])

    assert " ".join(name.removeprefix("name-") for name in order) == JAVA_ORDERS[count]


def test_table_of_a_hashmap_never_shrinks() -> None:
    names = [f"name-{number}" for number in range(12)]

    order = hashmap_order(names, peak_count=13)

    assert order == list(reversed(names))


def test_name_given_twice_stays_where_it_was() -> None:
    assert hashmap_order(["TAGS", "KEYS", "TAGS"]) == hashmap_order(["TAGS", "KEYS"])


@pytest.mark.parametrize("name", ["basic", "retention"])
def test_stored_properties_of_normal_sends_are_in_hashmap_order(corpus, name: str) -> None:
    for row, _ in corpus(name).messages:
        names = list(row["properties"])

        assert hashmap_order(sorted(names)) == hashmap_order(names)


def test_golden_properties_come_back_in_their_order(corpus) -> None:
    for _, raw in corpus("basic").messages:
        text = raw[raw.rindex(b"\x01CLUSTER") :] if b"\x01CLUSTER" in raw else b"A\x01b"

        assert parse_properties(format_properties(parse_properties(text))) == (
            parse_properties(text)
        )


@pytest.mark.parametrize(
    ("raw", "properties"),
    [
        (b"", {}),
        (b"a\x01b", {"a": "b"}),
        (b"a\x01b\x02", {"a": "b"}),
        (b"\x02\x02a\x01b\x02\x02c\x01d", {"a": "b", "c": "d"}),
        (b"a\x01b\x01c", {"a": "b\x01c"}),
        (b"\x01b\x02a\x01\x02ab\x02k\x01v", {"k": "v"}),
        (b"a\x01b\x02a\x01c", {"a": "c"}),
        ("имя\x01值😀".encode(), {"имя": "值😀"}),
        (b"a\x01\xffb\xe5\x80c\xf0\x9f\x98", {"a": "�b�c�"}),
    ],
)
def test_reading_is_as_lenient_as_java(raw: bytes, properties: dict[str, str]) -> None:
    assert parse_properties(raw) == properties
    assert parse_properties(raw.decode("utf-8", "replace")) == properties


@settings(derandomize=True)
@given(
    st.dictionaries(
        st.text(st.characters(blacklist_characters="\x01\x02", codec="utf-8"), min_size=1),
        st.text(st.characters(blacklist_characters="\x02", codec="utf-8"), min_size=1),
    )
)
def test_what_may_be_set_comes_back(properties: dict[str, str]) -> None:
    for name, value in properties.items():
        check_property(name, value)

    assert parse_properties(format_properties(properties).encode()) == properties


@pytest.mark.parametrize(("name", "value"), [("", "v"), ("n", ""), ("a\x01", "v"), ("n", "\x02")])
def test_what_would_not_come_back_is_refused(name: str, value: str) -> None:
    with pytest.raises(BadCall):
        check_property(name, value)
