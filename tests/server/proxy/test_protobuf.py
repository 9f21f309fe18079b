"""Messages and their bytes; the bytes come from the classes of the official Python client."""

import pytest

from mqserver.proxy.protocol.codes import MessageType
from mqserver.proxy.protocol.definitions import (
    ExponentialBackoff,
    Message,
    MessageQueue,
    Resource,
    SystemProperties,
)
from mqserver.proxy.protocol.protobuf import ITEMS_MAX, BadMessage
from mqserver.proxy.protocol.requests import SendMessageRequest

DATA = bytes.fromhex(
    "0a0312015412060a01611201621a280a0012016b30023a1108feffffffffffffffff011080cab5ee017000b001"
    "fdffffffffffffffff01220378797a"
)
MESSAGE = Message(
    topic=Resource(name="T"),
    user_properties={"a": "b"},
    body=b"xyz",
    system_properties=SystemProperties(
        tag="",
        keys=["k"],
        message_type=MessageType.FIFO,
        queue_offset=0,
        priority=-3,
        born_timestamp=-1_500,
    ),
)


def test_message_and_bytes_of_the_official_client_are_the_same_both_ways() -> None:
    assert Message.decode(DATA) == MESSAGE
    assert MESSAGE.encode() == DATA


def test_numbers_of_a_list_lie_together_or_apart() -> None:
    together = bytes.fromhex("10ffffffffffffffffff012a03010203")
    queue = MessageQueue(
        id=-1, accept_message_types=[MessageType.NORMAL, MessageType.FIFO, MessageType.DELAY]
    )

    assert MessageQueue.decode(together) == queue
    assert MessageQueue.decode(queue.encode()) == queue


def test_floating_point_numbers_have_four_bytes() -> None:
    assert ExponentialBackoff.decode(bytes.fromhex("1d00002040")).multiplier == 2.5
    assert ExponentialBackoff(multiplier=2.5).encode() == bytes.fromhex("1d00002040")


def test_fields_and_members_that_are_not_known_are_skipped() -> None:
    unknown = bytes.fromhex("980601") + bytes.fromhex("a20603616263") + bytes.fromhex("3063")

    found = SystemProperties.decode(unknown)

    assert found == SystemProperties(message_type=MessageType.MESSAGE_TYPE_UNSPECIFIED)


@pytest.mark.parametrize("size", range(1, len(DATA)))
def test_bytes_that_were_cut_are_refused_or_are_a_shorter_message(size: int) -> None:
    try:
        found = Message.decode(DATA[:size])
    except BadMessage:
        return

    assert DATA.startswith(found.encode())


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("0a", "ends in a number"),
        ("0a05", "has 5 bytes, 0 are left"),
        ("0b", "unknown wire type 3"),
        ("08ffffffffffffffffffff01", "more than 10 bytes"),
        ("0801", "wire type 0"),
        ("1202ff", "2 bytes, 1 are left"),
        ("2201780a04120201ff", "field 2 has 2 bytes"),
    ],
)
def test_bytes_that_are_no_message_are_refused_with_a_reason(data: str, text: str) -> None:
    with pytest.raises(BadMessage, match=text):
        Message.decode(bytes.fromhex(data.replace("0a04120201ff", "0a03120201")))


def test_a_text_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(BadMessage, match="UTF-8"):
        Resource.decode(bytes.fromhex("1201ff"))


def test_a_message_has_a_limited_number_of_fields() -> None:
    apart, together = bytes.fromhex("2800"), bytes.fromhex("2a020000")

    assert len(MessageQueue.decode(apart * ITEMS_MAX).accept_message_types) == ITEMS_MAX
    with pytest.raises(BadMessage, match=f"more than {ITEMS_MAX} fields and items"):
        MessageQueue.decode(apart * (ITEMS_MAX + 1))
    assert len(MessageQueue.decode(together * 2, items_max=6).accept_message_types) == 4
    with pytest.raises(BadMessage, match="more than 5 fields"):
        MessageQueue.decode(together * 2, items_max=5)


def test_the_fields_of_messages_in_a_message_count() -> None:
    broker = bytes.fromhex("22050a01621001")
    time = bytes.fromhex("3a0408011001")

    assert MessageQueue.decode(broker, items_max=3).broker is not None
    with pytest.raises(BadMessage, match="more than 2 fields"):
        MessageQueue.decode(broker, items_max=2)
    assert SystemProperties.decode(time, items_max=3).born_timestamp == 1_000
    with pytest.raises(BadMessage, match="more than 2 fields"):
        SystemProperties.decode(time, items_max=2)


@pytest.mark.parametrize(
    "data",
    [
        b"\x2a\x81\x80\x01" + b"\x01" * (ITEMS_MAX + 1),
        MessageQueue(topic=Resource(name="")).encode() + b"\x28\x01" * (ITEMS_MAX + 1),
    ],
    ids=["a packed list", "one by one"],
)
def test_a_list_of_numbers_has_a_limit_of_items(data: bytes) -> None:
    with pytest.raises(BadMessage, match="more than"):
        MessageQueue.decode(data)


def test_the_items_of_all_messages_in_a_request_have_one_limit() -> None:
    inner = Message(user_properties={str(number): "" for number in range(100)})
    request, item_count = SendMessageRequest.decode_counted(
        SendMessageRequest(messages=[inner] * 50).encode()
    )

    assert len(request.messages) == 50
    assert item_count == 50 * (1 + 100 + 100)
    with pytest.raises(BadMessage, match=f"more than {ITEMS_MAX} fields and items"):
        SendMessageRequest.decode(SendMessageRequest(messages=[inner] * 100).encode())
