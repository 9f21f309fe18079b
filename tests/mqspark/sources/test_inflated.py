"""Bodies of a log as their producers sent them."""

import zlib
from pathlib import Path

import pyarrow as pa
import pytest

from mqspark.sources.inflated import inflate_bodies
from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.tables import plan, read
from storefmt.errors import RecordDamaged
from storefmt.formats.message import body_crc
from storefmt.formats.sysflag import (
    COMPRESSED,
    MULTI_TAGS,
    TRANSACTION_COMMIT,
    Compression,
    inflate,
)
from tests.golden import Golden
from tests.mqspark.sources.store.reading import rows
from tests.storefmt.offline.stores import records_in

PLAIN = b"a body that says hello"
BROKEN = b"\x78\x9cnot zlib"


def batch(*bodies: tuple[bytes, int]) -> pa.RecordBatch:
    columns = {"body": [body for body, _ in bodies], "sys_flag": [flag for _, flag in bodies]}
    schema = pa.schema([("body", pa.binary()), ("sys_flag", pa.int32())])
    return pa.RecordBatch.from_pydict(columns, schema=schema)


def compressed(codec: int) -> bytes:
    """Return the plain body as a codec of ``sys_flag`` writes it."""
    if codec == Compression.LZ4:
        return bytes(pa.compress(PLAIN, codec="lz4", asbytes=True))
    if codec == Compression.ZSTD:
        return bytes(pa.compress(PLAIN, codec="zstd", asbytes=True))
    return zlib.compress(PLAIN)


def bodies(store: Path, **options: object) -> list[dict[str, object]]:
    return rows(store, columns=("log_offset", "body"), **options)


def test_bodies_of_a_store_are_decompressed_when_asked_for(golden: Golden) -> None:
    store = golden.store("kinds")
    records = records_in(store)
    packed = [record for record in records if record.sys_flag & COMPRESSED]

    stored = {row["log_offset"]: row["body"] for row in bodies(store)}
    given = {row["log_offset"]: row["body"] for row in bodies(store, decompress=True)}

    assert packed
    assert stored == {record.log_offset: record.body for record in records}
    assert given == {
        record.log_offset: inflate(record.body, record.sys_flag, size_max=1 << 20)
        for record in records
    }


def test_a_part_ends_where_its_bodies_are_full() -> None:
    packed = zlib.compress(bytes(1000)), COMPRESSED
    made = batch(packed, packed, (PLAIN, 0), packed)

    parts = list(inflate_bodies(made, bytes_max=2050, fail_on_damage=False))

    assert [part.rows.num_rows for part in parts] == [3, 1]
    assert [len(body) for part in parts for body in part.bodies.to_pylist()] == [
        *(1000, 1000, len(PLAIN), 1000)
    ]
    assert [flag for part in parts for flag in part.flags.to_pylist()] == [0, 0, 0, 0]


def test_what_cannot_be_decompressed_stays_or_ends_the_job() -> None:
    made = batch((BROKEN, COMPRESSED), (zlib.compress(PLAIN), COMPRESSED))

    (part,) = inflate_bodies(made, bytes_max=1 << 20, fail_on_damage=False)

    assert part.bodies.to_pylist() == [BROKEN, PLAIN]
    assert part.flags.to_pylist() == [COMPRESSED, 0]
    with pytest.raises(RecordDamaged, match="not zlib"):
        list(inflate_bodies(made, bytes_max=1 << 20, fail_on_damage=True))


@pytest.mark.parametrize("codec", [0, *Compression])
def test_flag_says_that_a_body_is_plain_and_keeps_its_other_bits(codec: int) -> None:
    others = MULTI_TAGS | TRANSACTION_COMMIT
    made = batch((compressed(codec), COMPRESSED | codec | others), (PLAIN, others))

    (part,) = inflate_bodies(made, bytes_max=1 << 20, fail_on_damage=True)

    assert part.as_sent().to_pylist() == [{"body": PLAIN, "sys_flag": others}] * 2


def test_flags_are_the_same_with_and_without_the_body(golden: Golden) -> None:
    store = golden.store("kinds")

    alone = rows(store, columns=("sys_flag",), decompress=True)

    assert alone == [
        {"sys_flag": row["sys_flag"]}
        for row in rows(store, columns=("body", "sys_flag"), decompress=True)
    ]
    assert not any(row["sys_flag"] & COMPRESSED for row in alone)
    assert any(row["sys_flag"] & COMPRESSED for row in rows(store, columns=("sys_flag",)))


def test_plain_records_are_those_that_a_store_without_compression_has(golden: Golden) -> None:
    names = ("body", "sys_flag", "body_size", "store_size", "body_crc", "topic", "properties_raw")
    reading = ReadOptions(columns=names)
    (task,) = plan(golden.store("kinds"), reading)
    (made,) = read(task, reading)

    (part,) = inflate_bodies(made, bytes_max=1 << 20, fail_on_damage=True)

    stored = part.rows.to_pylist()
    assert any(row["sys_flag"] & COMPRESSED for row in stored)
    for row, old in zip(part.as_plain_records().to_pylist(), stored, strict=True):
        assert row["body"] == inflate(old["body"], old["sys_flag"], size_max=1 << 20)
        assert row["body_size"] == len(row["body"])
        assert row["store_size"] == old["store_size"] + len(row["body"]) - len(old["body"])
        assert row["body_crc"] == body_crc(row["body"])
        assert not row["sys_flag"] & COMPRESSED
        assert row["properties_raw"] == old["properties_raw"]
