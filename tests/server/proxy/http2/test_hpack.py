"""Header blocks: the examples of RFC 7541, the limits, and blocks that are wrong."""

import random

import pytest

from mqserver.proxy.http2.hpack import (
    LIST_SIZE_MAX,
    TABLE_SIZE_MAX,
    BadHeaders,
    HeaderDecoder,
    encode,
    huffman_decode,
)

GET = [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")]
REQUESTS = (
    # RFC 7541, C.4: three requests of one connection, with Huffman's code.
    ("828684418cf1e3c2e5f23a6ba0ab90f4ff", GET),
    ("828684be5886a8eb10649cbf", [*GET, ("cache-control", "no-cache")]),
    (
        "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
        [
            (":method", "GET"),
            (":scheme", "https"),
            (":path", "/index.html"),
            (":authority", "www.example.com"),
            ("custom-key", "custom-value"),
        ],
    ),
)
PLAIN = (
    # RFC 7541, C.2: a field that is added, one that is not, one that never may be, a known one.
    ("400a637573746f6d2d6b65790d637573746f6d2d686561646572", ("custom-key", "custom-header")),
    ("040c2f73616d706c652f70617468", (":path", "/sample/path")),
    ("100870617373776f726406736563726574", ("password", "secret")),
    ("82", (":method", "GET")),
)


def test_the_requests_of_a_connection_share_a_table() -> None:
    decoder = HeaderDecoder()

    for block, fields in REQUESTS:
        assert decoder.decode(bytes.fromhex(block)) == fields


@pytest.mark.parametrize(("block", "field"), PLAIN)
def test_a_field_has_one_of_four_forms(block: str, field: tuple[str, str]) -> None:
    assert HeaderDecoder().decode(bytes.fromhex(block)) == [field]


def test_a_written_block_is_read_by_any_table() -> None:
    fields = [("grpc-status", "0"), ("grpc-message", "x" * 20_000)]
    shorter = [("grpc-status", "13"), ("grpc-message", "y" * 300)]
    decoder = HeaderDecoder()

    assert decoder.decode(encode(*shorter)) == shorter
    with pytest.raises(BadHeaders, match=f"more than {LIST_SIZE_MAX} bytes"):
        decoder.decode(encode(*fields))


def test_a_short_block_cannot_stand_for_many_bytes() -> None:
    long_field = b"\x40\x01a" + b"\x7f\x81\x1e" + b"v" * 3_968
    decoder = HeaderDecoder()

    assert len(decoder.decode(long_field + b"\xbe" * 3)) == 4
    with pytest.raises(BadHeaders, match=f"more than {LIST_SIZE_MAX} bytes"):
        decoder.decode(b"\xbe" * 1000)


def test_old_fields_leave_a_full_table() -> None:
    decoder = HeaderDecoder()
    count = TABLE_SIZE_MAX // (32 + 2)

    def add(index: int) -> None:
        decoder.decode(b"\x40\x01a\x01" + bytes((ord("A") + index % 26,)))

    for index in range(count + 5):
        add(index)

    # The newest has the index 62; the oldest of `count` fields is still there, the next is not.
    assert decoder.decode(b"\xbe") == [("a", chr(ord("A") + (count + 4) % 26))]
    assert decoder.decode(_index(61 + count)) == [("a", chr(ord("A") + 5 % 26))]
    with pytest.raises(BadHeaders, match=f"no header field {62 + count}"):
        decoder.decode(_index(62 + count))


def test_a_table_counts_the_bytes_of_the_peer() -> None:
    decoder = HeaderDecoder()
    # 4,064 bytes of two-byte characters fill the table with the name; one byte more is too much.
    fits, large = ("é" * 2_031 + "x").encode(), ("é" * 2_032).encode()

    decoder.decode(b"\x40\x01a\x7f\xe0\x1e" + fits)
    assert len(decoder.decode(b"\xbe")) == 1
    decoder.decode(b"\x40\x01a\x7f\xe1\x1e" + large)

    with pytest.raises(BadHeaders, match="no header field 62"):
        decoder.decode(b"\xbe")


def test_a_block_has_a_limited_number_of_fields() -> None:
    decoder = HeaderDecoder(count_max=3)

    assert len(decoder.decode(b"\x82" * 3)) == 3
    with pytest.raises(BadHeaders, match="more than 3 fields"):
        decoder.decode(b"\x82" * 4)


def test_a_table_gets_another_size_at_the_beginning_of_a_block_only() -> None:
    decoder = HeaderDecoder()
    decoder.decode(b"\x40\x01a\x01b")

    decoder.decode(b"\x20")

    with pytest.raises(BadHeaders, match="no header field 62"):
        decoder.decode(b"\xbe")
    with pytest.raises(BadHeaders, match="cannot get 0 bytes here"):
        HeaderDecoder().decode(b"\x82\x20")
    with pytest.raises(BadHeaders, match=f"cannot get {TABLE_SIZE_MAX + 1} bytes"):
        HeaderDecoder().decode(b"\x3f\xe2\x1f")


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ("80", "no header field 0"),
        ("ff808080808001", "too many bytes"),
        ("ffffffff7f", "larger than"),
        ("4005", "5 bytes, 0 are left"),
        ("400161", "ends in a field"),
        ("ff", "ends in a field"),
        ("408361", "3 bytes, 1 are left"),
        # A byte of ones is no end of a text, the first bits of a byte's code are none, either.
        ("0081ff0161", "ends in the code of a byte"),
        ("008100016a", "ends in the code of a byte"),
        ("0084ffffffff0161", "within it"),
    ],
)
def test_a_wrong_block_is_refused(block: str, reason: str) -> None:
    with pytest.raises(BadHeaders, match=reason):
        HeaderDecoder().decode(bytes.fromhex(block))


def test_any_bytes_are_fields_or_refused() -> None:
    source = random.Random(7541)
    for _ in range(3000):
        block = source.randbytes(source.randrange(1, 40))
        try:
            fields = HeaderDecoder().decode(block)
        except BadHeaders:
            continue
        assert all(isinstance(text, str) for field in fields for text in field)


def test_a_text_in_huffmans_code_ends_with_fewer_than_eight_ones() -> None:
    assert huffman_decode(bytes.fromhex("f1e3c2e5f23a6ba0ab90f4ff")) == b"www.example.com"
    assert huffman_decode(b"") == b""
    # "0" is 00000, and three ones fill the byte.
    assert huffman_decode(b"\x07") == b"0"
    with pytest.raises(BadHeaders, match="ends in the code"):
        huffman_decode(b"\x07\xff")


def _index(index: int) -> bytes:
    return bytes((0xFF, index - 127)) if index >= 127 else bytes((0x80 | index,))
