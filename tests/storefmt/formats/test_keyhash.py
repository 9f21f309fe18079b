"""The fast key hash is the slow one, for every kind of key."""

from hypothesis import given, settings
from hypothesis import strategies as st

from storefmt.formats.javahash import index_key_hash
from storefmt.formats.keyhash import KeyHashes, TopicKeyHash

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
