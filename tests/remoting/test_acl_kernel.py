"""The compiled reader finds in a header what proves its sender, as the general way does."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remoting.acl import (
    ACCESS_KEY,
    SIGNATURE,
    UNIQUE_KEY_QUERY,
    Proof,
    content_of,
    sign,
)
from remoting.codes import SerializeType
from remoting.command import Command
from remoting.errors import BadFrame
from remoting.serialize import decode_header, encode_header
from tests.remoting.captures import frames
from tests.twins import compiled, needs_kernel

READ = compiled("read_proof_compiled")
pytestmark = needs_kernel("read_proof_compiled")


def general(serialize: int, header: bytes, body: bytes) -> Proof:
    ext = decode_header(serialize, header).ext
    signature = ext.get(SIGNATURE, "").encode("utf-8", "surrogatepass")
    return Proof(ext.get(ACCESS_KEY), signature, content_of(ext, body))


def is_alike_or_left(serialize: int, header: bytes, body: bytes) -> bool:
    """Compare the two ways; return whether the kernel took the header."""
    found = READ(serialize, header, body)
    if found is None:
        return False
    assert type(found) is Proof
    assert found == general(serialize, header, body)
    return True


def test_recorded_signed_requests_are_read(fact_tables: Path) -> None:
    taken = [
        is_alike_or_left(frame.serialize, frame.header, frame.body)
        for frame in frames(fact_tables, "acl")
        if frame.kind != "response" and not frame.body_cut
    ]

    assert sum(taken) > 40


NAMES = st.sampled_from([ACCESS_KEY, SIGNATURE, "topic", "a", "Z", "é"]) | st.text(max_size=4)


@pytest.mark.parametrize("serialize", list(SerializeType))
@settings(max_examples=400, deadline=None)
@given(ext=st.dictionaries(NAMES, st.text(max_size=8), max_size=6), body=st.binary(max_size=8))
def test_any_fields_are_read_alike_or_left(
    serialize: SerializeType, ext: dict[str, str], body: bytes
) -> None:
    header = encode_header(Command(11, 1, ext=ext, serialize=serialize))

    is_alike_or_left(serialize, header, body)


@pytest.mark.parametrize("serialize", list(SerializeType))
def test_changed_headers_are_read_alike_or_left(serialize: SerializeType) -> None:
    command = Command(11, 1, ext={"topic": "T", "b": "1"}, serialize=serialize)
    sign(command, "accessKey", "secretKey")
    header = encode_header(command)
    numbers = random.Random(7)
    assert is_alike_or_left(serialize, header, b"body")
    for _ in range(5_000):
        data = bytearray(header)
        for _ in range(numbers.randrange(1, 3)):
            data[numbers.randrange(len(data))] = numbers.choice(b'"\\\0a1:,{}\xff\xc3\xa9')
        cut = bytes(data[: numbers.randrange(len(data)) if numbers.random() < 0.2 else None])
        try:
            is_alike_or_left(serialize, cut, b"body")
        except BadFrame as error:
            raise AssertionError("the kernel reads what the general way refuses") from error


def test_what_can_be_signed_in_two_ways_is_left() -> None:
    command = Command(11, 1, ext={"topic": "T", UNIQUE_KEY_QUERY: "true"})

    assert READ(0, encode_header(command), b"") is None
