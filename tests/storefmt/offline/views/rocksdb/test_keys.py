"""Keys of RocksDB against those that the real 5.4.0 wrote, and keys of other features."""

from typing import Any

import pytest

from storefmt.offline.views.rocksdb.keys import (
    OFFSET_VALUE,
    QUEUE_VALUE,
    OffsetKeyParts,
    QueueKeyParts,
    parse_offset_key,
    parse_queue_key,
    queue_key,
    queue_prefix,
)
from tests.golden import Golden


@pytest.fixture(scope="module")
def families(golden: Golden) -> dict[str, Any]:
    """Return what Java says of the queues of one store, by column family."""
    return golden.expected("rocksdb")["entries"]["separate"]["consumequeue"]


def test_queue_keys_equal_those_of_java(families: dict[str, Any]) -> None:
    keys = [bytes.fromhex(key) for key, _ in families["default"]]

    parsed = [parse_queue_key(key) for key in keys]

    assert QueueKeyParts("orders", 1, 5) in parsed
    assert [queue_key(*parts) for parts in parsed if parts] == keys
    assert all(len(value) == 2 * QUEUE_VALUE.size for _, value in families["default"])


def test_offset_keys_name_the_first_and_the_last_entry(families: dict[str, Any]) -> None:
    values = {parse_offset_key(bytes.fromhex(key)): value for key, value in families["offset"]}

    last = bytes.fromhex(values[OffsetKeyParts("orders", 1, is_max=True)])

    assert None not in values
    assert OFFSET_VALUE.unpack(last)[1] == 5


@pytest.mark.parametrize(
    "key",
    [
        b"",
        b"\x00\x00\x00\x06",
        b"RMQ_SYS_TRANS_HALF_TOPIC@K@half",
        queue_prefix("orders", 0),
        queue_key("orders", 0, 1)[:-1],
        queue_key("orders", 0, 1).replace(b"\x01orders", b"\x02orders"),
        queue_key("orders", 0, 1).replace(b"orders", b"order\xff"),
        queue_key("orders", 0, 1)[:-8] + b"\xff" * 8,
    ],
)
def test_a_key_of_another_form_is_none(key: bytes) -> None:
    assert parse_queue_key(key) is None
    assert parse_offset_key(key) is None
