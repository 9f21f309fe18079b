"""Compressed bodies come back as they were, never larger than allowed; bombs take little memory."""

import hashlib
import random
import subprocess
import sys
import zlib

import lz4.frame
import pytest
import zstandard

from storefmt.errors import DamageKind, RecordDamaged
from storefmt.formats.message import decode_record
from storefmt.formats.sysflag import COMPRESSED, Compression, compression_of, inflate
from tests.golden import REPOSITORY
from tests.storefmt.broken import assert_cuts_are_damage, every_flip, survives

SIZE_MAX = 8 << 20
CODECS = {
    Compression.ZLIB: zlib.compress,
    Compression.LZ4: lz4.frame.compress,
    Compression.ZSTD: zstandard.compress,
}


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


@pytest.mark.parametrize(("codec", "compress"), CODECS.items())
def test_each_codec_is_read_up_to_the_limit(codec: Compression, compress) -> None:
    stored = compress(b"a body" * 1000)

    assert inflate(stored, COMPRESSED | codec, size_max=6000) == b"a body" * 1000
    with pytest.raises(RecordDamaged, match="beyond"):
        inflate(stored, COMPRESSED | codec, size_max=5999)


@pytest.mark.parametrize(("codec", "compress"), CODECS.items())
def test_cut_body_is_damage_at_every_byte(codec: Compression, compress) -> None:
    stored = compress(b"a body" * 20)

    assert_cuts_are_damage(
        lambda data: inflate(data, COMPRESSED | codec, size_max=SIZE_MAX), stored
    )


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


MEMORY_MAX = 48
BOMB = """
import resource, sys, zlib
import lz4.frame, zstandard
from storefmt.errors import RecordDamaged
from storefmt.formats.sysflag import COMPRESSED, Compression, inflate

def bomb(codec):
    if codec is Compression.ZSTD:
        # A window of 128 MiB, the largest that the library takes by itself.
        settings = zstandard.ZstdCompressionParameters.from_level(1, window_log=27)
        maker = zstandard.ZstdCompressor(compression_params=settings).compressobj()
    elif codec is Compression.LZ4:
        maker = lz4.frame.LZ4FrameCompressor(block_size=lz4.frame.BLOCKSIZE_MAX4MB)
    else:
        maker = zlib.compressobj(1)
    piece = bytes(1 << 20)
    head = maker.begin() if codec is Compression.LZ4 else b""
    return head + b"".join(maker.compress(piece) for _ in range(200)) + maker.flush()

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10

codec = Compression[sys.argv[1]]
body = bomb(codec) if len(sys.argv) < 3 else open(sys.argv[2], "rb").read()
if len(sys.argv) < 3:
    sys.stdout.buffer.write(body)
else:
    before = peak()
    try:
        inflate(body, COMPRESSED | codec, size_max=1 << 20)
        print("no error")
    except RecordDamaged:
        print(peak() - before)
"""


@pytest.mark.parametrize("codec", Compression)
def test_bomb_of_200_mib_takes_little_memory(codec: Compression, tmp_path) -> None:
    # The second process never held the bomb's content, so its peak is that of inflate.
    made = run(codec.name)
    path = tmp_path / "bomb"
    path.write_bytes(made)

    taken = run(codec.name, str(path))

    assert len(made) < 2 << 20
    assert int(taken) <= MEMORY_MAX


def run(*arguments: str) -> bytes:
    command = [sys.executable, "-c", BOMB, *arguments]
    return subprocess.run(command, capture_output=True, check=True, cwd=REPOSITORY).stdout


@pytest.mark.parametrize("codec", Compression)
def test_every_flipped_bit_gives_a_body_or_damage(codec: Compression) -> None:
    stored = CODECS[codec](b"a body that has some words in it, a body of words" * 3)

    for broken in every_flip(stored):
        survives(lambda data: inflate(data, COMPRESSED | codec, size_max=1 << 20), broken)


@pytest.mark.parametrize("codec", Compression)
def test_truncated_stream_of_incompressible_bytes_is_damage(codec: Compression) -> None:
    stored = CODECS[codec](random.Random(4).randbytes(200_000))

    for size in (0, 1, 4, 15, 65_536, 131_072, len(stored) - 1):
        with pytest.raises(RecordDamaged) as caught:
            inflate(stored[:size], COMPRESSED | codec, size_max=1 << 20)
        assert caught.value.kind == DamageKind.BAD_BODY


@pytest.mark.parametrize("codec", Compression)
@pytest.mark.parametrize("size", [0, 1, 99_999])
def test_body_of_exactly_the_limit_is_read(codec: Compression, size: int) -> None:
    body = random.Random(size).randbytes(size)

    assert inflate(CODECS[codec](body), COMPRESSED | codec, size_max=size) == body
