"""Bodies of a log as their producers sent them."""

import zlib
from pathlib import Path

import pyarrow as pa
import pytest

from mqspark.sources.store.inflated import inflate_bodies
from storefmt.errors import RecordDamaged
from storefmt.formats.sysflag import COMPRESSED, inflate
from tests.golden import Golden
from tests.mqspark.sources.store.reading import rows
from tests.storefmt.offline.stores import records_in

PLAIN = b"a body that says hello"
BROKEN = b"\x78\x9cnot zlib"


def batch(*bodies: tuple[bytes, int]) -> pa.RecordBatch:
    columns = {"body": [body for body, _ in bodies], "sys_flag": [flag for _, flag in bodies]}
    schema = pa.schema([("body", pa.binary()), ("sys_flag", pa.int32())])
    return pa.RecordBatch.from_pydict(columns, schema=schema)


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

    assert [part.num_rows for part, _ in parts] == [3, 1]
    assert [len(body) for _, bodies in parts for body in bodies.to_pylist()] == [
        *(1000, 1000, len(PLAIN), 1000)
    ]
    assert pa.Table.from_batches([part for part, _ in parts]).to_batches()[0].num_rows == 3


def test_what_cannot_be_decompressed_stays_or_ends_the_job() -> None:
    made = batch((BROKEN, COMPRESSED), (zlib.compress(PLAIN), COMPRESSED))

    ((_, bodies),) = inflate_bodies(made, bytes_max=1 << 20, fail_on_damage=False)

    assert bodies.to_pylist() == [BROKEN, PLAIN]
    with pytest.raises(RecordDamaged, match="not zlib"):
        list(inflate_bodies(made, bytes_max=1 << 20, fail_on_damage=True))
