"""The compiled codec of messages does what the plain one does, for any bytes and values."""

import dataclasses
import functools
import itertools
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqserver.proxy.protocol.definitions import Message, Settings
from mqserver.proxy.protocol.protobuf import (
    ITEMS_MAX,
    BadMessage,
    Codec,
    PlainCodec,
    WireMessage,
)
from mqserver.proxy.protocol.requests import (
    AckMessageRequest,
    AckMessageResponse,
    HeartbeatRequest,
    ReceiveMessageRequest,
    ReceiveMessageResponse,
    SendMessageRequest,
    SendMessageResponse,
    TelemetryCommand,
)
from tests.twins import compiled, needs_kernel

COMPILED = compiled("CompiledCodec")
pytestmark = needs_kernel("CompiledCodec")

CLASSES: tuple[type[WireMessage], ...] = (
    SendMessageRequest, SendMessageResponse, ReceiveMessageRequest, ReceiveMessageResponse,
    AckMessageRequest, AckMessageResponse, HeartbeatRequest, TelemetryCommand, Settings, Message,
)  # fmt: skip
NUMBERS = (0, 1, -1, 127, 128, 2**31 - 1, -(2**31), 2**32, 2**63 - 1, -(2**63))
MILLIS = (*NUMBERS, 999, 1000, -999, -1000, 2**52 * 1000, 2**70, -(2**70))
TEXTS = ("", "T", "ä€😀", "\0", "x" * 127, "x" * 128, "y" * 20_000)
REALS = (0.0, -0.0, 2.5, float("inf"), float("-inf"), 1e-45)


@functools.cache
def both(cls: type[WireMessage]) -> tuple[Codec, Codec]:
    return PlainCodec(cls), COMPILED(cls)


def value_of(field: Any, source: random.Random) -> Any:
    """Return any value of a declared field."""
    kind = field.kind

    def one() -> Any:
        if kind.name == "choice":
            return source.choice(list(kind.members.values()))
        if kind.name == "message":
            return message_of(kind.message, source)
        if kind.name == "binary":
            return source.choice(TEXTS).encode()
        if kind.name == "flag":
            return source.random() < 0.5
        named = {"text": TEXTS, "number": NUMBERS, "millis": MILLIS, "real": REALS}
        return source.choice(named[kind.name])

    if field.is_list:
        return [one() for _ in range(source.choice((0, 1, 3)))]
    if field.is_map:
        return {source.choice(TEXTS): source.choice(TEXTS) for _ in range(source.choice((0, 2)))}
    return one()


def message_of(cls: type[WireMessage], source: random.Random) -> Any:
    """Return a message with any values in any of its fields."""
    return cls(**{
        each.name: value_of(each.metadata["field"], source)
        for each in dataclasses.fields(cls)
        if source.random() < 0.6
    })  # fmt: skip


def result(codec: Codec, data: bytes, items_max: int) -> str:
    try:
        # As text, because a real number may be none.
        return repr(codec.decode(data, items_max))
    except BadMessage as error:
        return str(error)


def assert_read_alike(cls: type[WireMessage], data: bytes, items_max: int = ITEMS_MAX) -> None:
    plain, compiled = both(cls)
    assert result(compiled, data, items_max) == result(plain, data, items_max), data.hex()


@pytest.mark.parametrize("cls", CLASSES)
def test_any_values_are_written_and_read_alike(cls: type[WireMessage]) -> None:
    source = random.Random(cls.__name__)
    plain, compiled = both(cls)
    for _ in range(60):
        message = message_of(cls, source)

        data = plain.encode(message)

        assert compiled.encode(message) == data
        assert_read_alike(cls, data)


@pytest.mark.parametrize("cls", CLASSES)
def test_cut_and_flipped_bytes_are_read_alike(cls: type[WireMessage]) -> None:
    source = random.Random(cls.__name__)
    messages = (both(cls)[0].encode(message_of(cls, source)) for _ in itertools.count())
    data = next(each for each in messages if 3 < len(each) < 500)
    for size in range(len(data)):
        assert_read_alike(cls, data[:size])
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        assert_read_alike(cls, bytes(flipped))


@settings(max_examples=300, deadline=None)
@given(cls=st.sampled_from(CLASSES), data=st.binary(max_size=60))
def test_any_bytes_are_read_alike(cls: type[WireMessage], data: bytes) -> None:
    assert_read_alike(cls, data)


@pytest.mark.parametrize(
    "data",
    [
        "8a0000",  # a tag of two bytes, the second of them needless
        "ffffffffffffffffff7f01",  # the largest tag
        "02ffffffffffffffffff01",  # a field 0 of 2**64 - 1 bytes
        "0affffffffffffffffff01",
        "2a0b" + "80" * 10 + "00",  # a time whose number has eleven bytes
        "3a0b08ffffffffffffffffff01",  # a time of -1 s
        "3a0b08ffffffffffffffff7f",  # a time of 2**63 - 1 s
        "3a020a00",  # a time with another wire type
        "0b", "0c", "0e", "0f", "0d0000", "0900000000000000",
    ],
)  # fmt: skip
@pytest.mark.parametrize("cls", CLASSES)
def test_hostile_numbers_are_read_alike(cls: type[WireMessage], data: str) -> None:
    assert_read_alike(cls, bytes.fromhex(data))


@pytest.mark.parametrize("cls", CLASSES)
def test_the_number_of_fields_is_limited_alike(cls: type[WireMessage]) -> None:
    source = random.Random(cls.__name__)
    for _ in range(20):
        data = both(cls)[0].encode(message_of(cls, source))
        for items_max in (0, 1, 5, 20):
            assert_read_alike(cls, data, items_max)


def test_what_cannot_be_written_is_refused() -> None:
    _, compiled = both(Message)

    with pytest.raises(UnicodeEncodeError):
        compiled.encode(Message(user_properties={"a": "\ud800"}))
    with pytest.raises(TypeError, match="a Settings instead of a Message"):
        compiled.encode(Settings())
