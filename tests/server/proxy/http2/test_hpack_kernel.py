"""The compiled decoder of header blocks does what the plain one does, for any blocks."""

import random

import pytest

from mqserver.proxy.http2.hpack import (
    HUFFMAN_LENGTHS,
    STATIC,
    BadHeaders,
    Field,
    FieldReader,
    HeaderDecoder,
    encode,
)
from storefmt.kernels import forms
from tests.twins import compiled, needs_kernel

COMPILED = compiled("HeaderDecoderCompiled")
pytestmark = needs_kernel("HeaderDecoderCompiled")

NAMES = ("a", "x-mq-client-id", ":path", "grpc-timeout", "ünïcode", "")
VALUES = ("", "v", "MQv2-HMAC-SHA1 Credential=a", "ä€😀", "x" * 130, "y" * 3_000, "\0\x7f")


def read(decoder: FieldReader, block: bytes) -> list[Field] | str:
    try:
        return decoder.decode(block)
    except BadHeaders as error:
        return str(error)


def assert_read_alike(*blocks: bytes, **limits: int) -> None:
    """Read blocks of one connection with both decoders, up to the first that is refused."""
    plain, compiled = HeaderDecoder(**limits), COMPILED(**limits)
    for block in blocks:
        expected = read(plain, block)
        assert read(compiled, block) == expected, [each.hex() for each in blocks]
        if isinstance(expected, str):
            return


def number(value: int, mask: int, high: int) -> bytes:
    """Return a number of a block in the low bits of its first byte."""
    if value < mask:
        return bytes((high | value,))
    out, value = bytearray((high | mask,)), value - mask
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def codes() -> list[str]:
    """Return the code of each byte in bits: codes of one length count upwards."""
    found, code, length = [""] * 257, 0, 0
    for symbol in sorted(range(257), key=HUFFMAN_LENGTHS.__getitem__):
        code <<= HUFFMAN_LENGTHS[symbol] - length
        length = HUFFMAN_LENGTHS[symbol]
        found[symbol] = f"{code:0{length}b}"
        code += 1
    return found


CODES = codes()


def huffman_encode(data: bytes) -> bytes:
    """Return a text in Huffman's code; ones fill its last byte."""
    bits = "".join(CODES[byte] for byte in data)
    bits += "1" * (-len(bits) % 8)
    return bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8))


def written(text: str, source: random.Random) -> bytes:
    data = text.encode()
    if source.random() < 0.5:
        coded = huffman_encode(data)
        return number(len(coded), 0x7F, 0x80) + coded
    return number(len(data), 0x7F, 0) + data


def block_of(source: random.Random) -> bytes:
    """Return a block whose fields are mostly right."""
    out = bytearray()
    if source.random() < 0.1:
        out += number(source.choice((0, 40, 100, 3_000, 4_096, 4_097)), 0x1F, 0x20)
    for _ in range(source.randrange(1, 12)):
        if source.random() < 0.4:
            out += number(source.randrange(1, len(STATIC) + 12), 0x7F, 0x80)
            continue
        mask, high = source.choice(((0x3F, 0x40), (0x3F, 0x40), (0x0F, 0), (0x0F, 0x10)))
        index = source.choice((0, 0, 1, 20, 61, 62, 65, 100))
        out += number(index, mask, high)
        if not index:
            out += written(source.choice(NAMES), source)
        out += written(source.choice(VALUES), source)
    return bytes(out)


def test_connections_are_read_alike() -> None:
    source = random.Random(7541)
    for _ in range(200):
        assert_read_alike(*(block_of(source) for _ in range(20)))


def test_blocks_are_read_alike_cut_at_each_byte_and_with_each_bit_flipped() -> None:
    source = random.Random(9113)
    first = encode(("a", "b"), ("c", "d")).replace(b"\0\x01a", b"\x40\x01a")
    for _ in range(10):
        block = block_of(source)[:300]
        for size in range(len(block)):
            assert_read_alike(first, block[:size])
        for bit in range(8 * len(block)):
            flipped = bytearray(block)
            flipped[bit // 8] ^= 1 << bit % 8
            assert_read_alike(first, bytes(flipped), b"\xbe\xbf")


def test_any_bytes_are_read_alike() -> None:
    source = random.Random(1)
    for _ in range(5_000):
        assert_read_alike(*(source.randbytes(source.randrange(1, 60)) for _ in range(3)))


def test_any_code_of_huffman_is_read_alike() -> None:
    source = random.Random(2)
    for _ in range(2_000):
        data = source.randbytes(source.randrange(0, 40))
        coded = huffman_encode(data)
        assert_read_alike(b"\0\x01a" + number(len(coded), 0x7F, 0x80) + coded)
        assert_read_alike(b"\0\x01a" + number(len(data), 0x7F, 0x80) + data)


@pytest.mark.parametrize("limits", [{"size_max": 99}, {"size_max": 0}, {"count_max": 3}])
def test_limits_are_kept_alike(limits: dict[str, int]) -> None:
    source = random.Random(3)
    for _ in range(500):
        assert_read_alike(block_of(source), **limits)


def test_a_field_larger_than_the_table_empties_it() -> None:
    small, large = b"\x40\x01a\x01b", b"\x40\x01a" + number(4_064, 0x7F, 0) + b"v" * 4_064
    assert_read_alike(small, large, b"\xbe")
    assert_read_alike(small, large[:3] + number(4_063, 0x7F, 0) + b"v" * 4_063, b"\xbe", b"\xbf")


def test_the_fields_of_a_request_are_read_alike() -> None:
    plain, read_compiled = forms("read_head_compiled")["pure"], compiled("read_head_compiled")
    source = random.Random(33)
    usual = [(":method", "POST"), (":scheme", "http"), (":path", "/a"), ("te", "trailers")]
    others = [
        ("te", "gzip"), ("connection", "x"), ("upgrade", ""), ("content-length", "3"), ("X", "y"),
        ("", "v"), (":status", "200"), (":path", ""), (":authority", "h"), ("\u00dcn", "x"),
        ("x-a", "\u00e4"), ("te", "trailers"), ("x-a", "again"),
    ]  # fmt: skip
    usual_count = 0
    for _ in range(2_000):
        fields = [*usual, *source.choices(others, k=source.choice((0, 0, 1, 2)))]
        if source.random() < 0.3:
            source.shuffle(fields)
        if source.random() < 0.2:
            del fields[source.randrange(len(fields))]
        size, metadata = plain(fields)
        usual_count += metadata is not None
        assert read_compiled(fields) == (size, metadata), fields
    assert 200 < usual_count < 1_800
