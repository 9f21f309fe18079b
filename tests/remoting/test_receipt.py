"""Receipt handles and the tables of a pop, as ExtraInfoUtil and ReceiptHandle of 5.4.0 write them.

Every text below that is not meant to be wrong was printed by those two classes.
"""

import pytest

from remoting.errors import BadCall, BadHeader
from remoting.receipt import (
    NORMAL,
    RETRY_V1,
    RETRY_V2,
    OrderKey,
    PoppedQueue,
    ReceiptHandle,
    decode_message_offsets,
    decode_order_counts,
    decode_receipt,
    decode_start_offsets,
    encode_message_offsets,
    encode_order_counts,
    encode_start_offsets,
    real_topic,
    topic_kind,
)

POPPED_MS = 1_700_000_000_123
HANDLES = {
    "7 1700000000123 60000 3 0 broker-a 5 9": ReceiptHandle(
        7, POPPED_MS, 60_000, 3, NORMAL, "broker-a", 5, 9
    ),
    "7 1700000000123 60000 3 1 broker-a 0 9": ReceiptHandle(
        7, POPPED_MS, 60_000, 3, RETRY_V1, "broker-a", 0, 9
    ),
    "7 1700000000123 60000 999 2 broker-a 0 9": ReceiptHandle(
        7, POPPED_MS, 60_000, 999, RETRY_V2, "broker-a", 0, 9
    ),
    "7 1700000000123 60000 3 0 broker-a 5 9 4096": ReceiptHandle(
        7, POPPED_MS, 60_000, 3, NORMAL, "broker-a", 5, 9, 4096
    ),
}


@pytest.mark.parametrize("text", HANDLES)
def test_a_handle_is_the_text_that_java_writes_both_ways(text: str) -> None:
    assert decode_receipt(text) == HANDLES[text]
    assert HANDLES[text].encode() == text


def test_a_handle_tells_its_end_its_topic_and_whether_it_is_in_order() -> None:
    normal, first, ordered, _ = HANDLES.values()

    assert normal.expires_at_ms == POPPED_MS + 60_000
    assert [handle.is_ordered for handle in (normal, first, ordered)] == [False, False, True]
    assert [handle.real_topic("Orders", "readers") for handle in (normal, first, ordered)] == [
        "Orders",
        "%RETRY%readers_Orders",
        "%RETRY%readers+Orders",
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "1 words instead of 8 or 9"),
        ("7 1700000000123 60000 3 0 broker-a 5", "7 words"),
        ("7 1700000000123 60000 3 0 broker-a 5 9 4096 1", "10 words"),
        ("x 1700000000123 60000 3 0 broker-a 5 9", "'x' is not a decimal number"),
        ("7 1_700 60000 3 0 broker-a 5 9", "'1_700' is not"),
        ("7 1700000000123 60000 3 3 broker-a 5 9", "'3' is not a kind of topic"),
        ("7 1700000000123 60000 3 0  5 9", "no broker name"),
        ("7 1700000000123 60000 2147483648 0 broker-a 5 9", "outside"),
        ("7 9223372036854775808 60000 3 0 broker-a 5 9", "outside"),
        ("7 1700000000123 60000 3 0 broker-a 5 9 ", "'' is not"),
    ],
)
def test_a_forged_handle_is_refused(text: str, why: str) -> None:
    with pytest.raises(BadHeader, match=why) as caught:
        decode_receipt(text)

    assert caught.value.field == "extraInfo"


@pytest.mark.parametrize("cut", range(len("7 1700000000123 60000 3 0 broker-a 5 ")))
def test_a_handle_that_was_cut_is_refused(cut: int) -> None:
    with pytest.raises(BadHeader):
        decode_receipt("7 1700000000123 60000 3 0 broker-a 5 9"[:cut])


def test_the_kind_of_a_topic_is_seen_in_its_name() -> None:
    names = ("Orders", "%RETRY%readers", "%RETRY%readers_Orders", "%RETRY%readers+Orders")

    assert [topic_kind(name) for name in names] == [NORMAL, RETRY_V1, RETRY_V1, RETRY_V2]
    with pytest.raises(BadCall, match="'3'"):
        real_topic("Orders", "readers", kind="3")


def test_start_offsets_are_the_text_that_java_writes_both_ways() -> None:
    text = "0 5 7;1 0 2"
    offsets = {PoppedQueue(NORMAL, 5): 7, PoppedQueue(RETRY_V1, 0): 2}

    assert decode_start_offsets(text) == offsets
    assert encode_start_offsets(offsets) == text


def test_message_offsets_are_the_text_that_java_writes_both_ways() -> None:
    text = "0 5 7,9;2 0 2"
    offsets = {PoppedQueue(NORMAL, 5): (7, 9), PoppedQueue(RETRY_V2, 0): (2,)}

    assert decode_message_offsets(text) == offsets
    assert encode_message_offsets(offsets) == text


def test_order_counts_are_the_text_that_java_writes_both_ways() -> None:
    text = "0 5 1;0 qo5%9 2"
    counts = {OrderKey(NORMAL, 5): 1, OrderKey(NORMAL, 5, 9): 2}

    assert decode_order_counts(text) == counts
    assert encode_order_counts(counts) == text


@pytest.mark.parametrize("text", [None, ""])
def test_no_text_is_an_empty_table(text: str | None) -> None:
    assert decode_start_offsets(text) == {}
    assert decode_message_offsets(text) == {}
    assert decode_order_counts(text) == {}
    assert encode_start_offsets({}) == encode_message_offsets({}) == encode_order_counts({}) == ""


@pytest.mark.parametrize("text", ["0 5", "0 5 7 8", "0 5 7;", "0 5 7;0 5 8", "4 5 7", "0 5 x"])
def test_a_wrong_table_is_refused(text: str) -> None:
    for decode, field in (
        (decode_start_offsets, "startOffsetInfo"),
        (decode_message_offsets, "msgOffsetInfo"),
        (decode_order_counts, "orderCountInfo"),
    ):
        with pytest.raises(BadHeader) as caught:
            decode(text)
        assert caught.value.field == field


@pytest.mark.parametrize("key", ["qo5", "qo%9", "qox%9", "qo5%"])
def test_a_wrong_key_of_an_order_count_is_refused(key: str) -> None:
    with pytest.raises(BadHeader, match="orderCountInfo"):
        decode_order_counts(f"0 {key} 1")
