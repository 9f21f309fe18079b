"""String.hashCode and what RocketMQ makes of it; the numbers are from a JVM."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storefmt.formats.javahash import (
    KeyHashes,
    TopicKeyHash,
    index_key_hash,
    string_hash,
    tags_code,
)

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


KEYS = [
    "",
    "a",
    "k12345678",
    "k1234567",
    "AC110001234518B4AAC20E2F2A6704CE",
    "ключ-номер-1",
    "😀" * 9,
]


def test_known_keys_hash_as_java_hashes_them() -> None:
    hasher = TopicKeyHash("topic", {})

    for _ in range(2):
        for key in KEYS:
            assert hasher.of(key) == index_key_hash(f"topic#{key}")


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.text("aZ0é", max_size=13), min_size=1, max_size=30))
def test_short_keys_hash_as_java_hashes_them(keys: list[str]) -> None:
    hasher = TopicKeyHash("orders", {})

    for key in keys + keys:
        assert hasher.of(key) == index_key_hash(f"orders#{key}")


def test_more_topics_than_are_kept_hash_as_java_hashes_them() -> None:
    hashes = KeyHashes()

    for number in range(5000):
        topic = f"topic{number}"
        assert hashes.of(topic)("order-17-00042") == index_key_hash(f"{topic}#order-17-00042")


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.text(max_size=40), max_size=8), st.text(min_size=1, max_size=8))
def test_any_keys_hash_as_java_hashes_them(keys: list[str], topic: str) -> None:
    hasher = TopicKeyHash(topic, {})

    for key in keys + keys:
        assert hasher.of(key) == index_key_hash(f"{topic}#{key}")


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 1 << 80), min_size=1, max_size=20))
def test_numbers_with_one_beginning_hash_as_java_hashes_them(numbers: list[int]) -> None:
    hasher = TopicKeyHash("orders", {})

    for number in numbers:
        key = f"ORDER-{number:024d}"
        assert hasher.of(key) == index_key_hash(f"orders#{key}")
