"""Compressed bodies come back as their producers gave them, and never larger than allowed."""

import hashlib
import zlib

import lz4.frame
import pytest
import zstandard

from storefmt.errors import DamageKind, RecordDamaged
from storefmt.formats.message import decode_record
from storefmt.formats.sysflag import COMPRESSED, Compression, compression_of, inflate

SIZE_MAX = 8 << 20


@pytest.fixture(scope="module")
def compressed(corpus) -> list[tuple[dict, bytes]]:
    return [pair for pair in corpus("kinds").messages if pair[0]["sysFlag"] & COMPRESSED]


def test_golden_bodies_inflate_to_what_java_inflated(compressed) -> None:
    assert compressed

    for row, raw in compressed:
        record = decode_record(raw)
        body = inflate(record.body, record.sys_flag, size_max=SIZE_MAX)

        assert len(body) == row["inflatedLen"]
        assert hashlib.sha256(body).hexdigest() == row["inflatedSha256"]


@pytest.mark.parametrize(
    ("codec", "compress"),
    [
        (Compression.ZLIB, zlib.compress),
        (Compression.LZ4, lz4.frame.compress),
        (Compression.ZSTD, zstandard.compress),
    ],
)
def test_each_codec_is_read_up_to_the_limit(codec: Compression, compress) -> None:
    stored = compress(b"a body" * 1000)

    assert inflate(stored, COMPRESSED | codec, size_max=6000) == b"a body" * 1000
    with pytest.raises(RecordDamaged, match="beyond"):
        inflate(stored, COMPRESSED | codec, size_max=5999)


@pytest.mark.parametrize(
    ("codec", "compress"),
    [
        (Compression.ZLIB, zlib.compress),
        (Compression.LZ4, lz4.frame.compress),
        (Compression.ZSTD, zstandard.compress),
    ],
)
def test_cut_body_is_damage_at_every_byte(codec: Compression, compress) -> None:
    stored = compress(b"a body" * 20)

    for size in range(len(stored)):
        with pytest.raises(RecordDamaged):
            inflate(stored[:size], COMPRESSED | codec, size_max=SIZE_MAX)


def test_body_that_grows_beyond_the_limit_is_refused(compressed) -> None:
    for row, raw in compressed:
        record = decode_record(raw)

        with pytest.raises(RecordDamaged, match="beyond"):
            inflate(record.body, record.sys_flag, size_max=row["inflatedLen"] - 1)


@pytest.mark.parametrize("codec", Compression)
def test_garbage_is_no_compressed_body(codec: Compression) -> None:
    with pytest.raises(RecordDamaged) as caught:
        inflate(b"no such stream at all", COMPRESSED | codec, size_max=100)

    assert caught.value.kind == DamageKind.BAD_BODY


def test_old_clients_compress_with_zlib_and_say_nothing() -> None:
    assert compression_of(COMPRESSED) is Compression.ZLIB
    assert inflate(zlib.compress(b"old"), COMPRESSED, size_max=3) == b"old"


def test_plain_body_is_returned_as_it_is() -> None:
    assert compression_of(0x300) is None
    assert inflate(b"plain", 0x300, size_max=1) == b"plain"


def test_unknown_codec_is_damage() -> None:
    with pytest.raises(RecordDamaged, match="0x400"):
        compression_of(COMPRESSED | 0x400)
