"""String.hashCode and what RocketMQ makes of it; the numbers are from a JVM."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storefmt.formats.javahash import index_key_hash, string_hash, tags_code

UNIQUE = "TopicTest#FD00000000000000000000000000000272BB4E0E2F2A67EC3C1B0000"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("TagA", 2598919),
        ("polygenelubricants", -(2**31)),
        ("😀值", 54980409),
        ("a\0b", 93315),
        ("%RETRY%group", 995971261),
        (UNIQUE, -918351130),
    ],
)
def test_hash_is_that_of_java(text: str, value: int) -> None:
    assert string_hash(text) == value


@settings(derandomize=True, max_examples=300)
@given(st.one_of(st.text(max_size=300), st.text("ab#", max_size=300)))
def test_hash_equals_the_definition(text: str) -> None:
    raw = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for pos in range(0, len(raw), 2):
        value = (31 * value + int.from_bytes(raw[pos : pos + 2], "big")) & 0xFFFFFFFF
    signed = value - (1 << 32) if value >> 31 else value

    assert string_hash(text) == signed
    assert index_key_hash(text) == (0 if signed == -(2**31) else abs(signed))


def test_index_hash_is_never_negative() -> None:
    assert index_key_hash("polygenelubricants") == 0
    assert index_key_hash(UNIQUE) == 918351130


def test_message_without_tag_has_code_zero() -> None:
    assert (tags_code(None), tags_code(""), tags_code("TagA")) == (0, 0, 2598919)
