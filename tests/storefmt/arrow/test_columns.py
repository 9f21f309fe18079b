"""The columns agree with the record decoder, row by row, however the log is split."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("numpy")

from storefmt.arrow import columns  # noqa: E402
from storefmt.errors import BadCall, DamageKind, RecordDamaged  # noqa: E402
from storefmt.formats.hosts import address_text, port_of  # noqa: E402
from storefmt.formats.message import Record, encode_record  # noqa: E402
from storefmt.formats.scan import Damage, LogFile, LogItem, offset_mismatch, scan_items  # noqa: E402
from tests.storefmt.broken import flip, overwrite  # noqa: E402
from tests.storefmt.corpus import STORES  # noqa: E402
from tests.storefmt.formats.test_message import SMALL  # noqa: E402
from tests.twins import use_form  # noqa: E402

EVERY = tuple(columns.SCHEMA.names)
YEAR_1_MS, YEAR_10000_MS = -62_135_596_800_000, 253_402_300_800_000


@pytest.fixture(autouse=True)
def way(scan_way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scan and decode in one of the kernels."""
    use_form(monkeypatch, scan_way, columns, "_maker", "CompiledColumns")


def row_of(record: Record, file: str) -> dict:
    """Return what the columns must hold for a record."""
    properties = record.properties
    return {
        "file": file,
        "log_offset": record.log_offset,
        "store_size": record.size,
        "magic": record.magic,
        "topic": record.topic,
        "queue_id": record.queue_id,
        "queue_offset": record.queue_offset,
        "flag": record.flag,
        "sys_flag": record.sys_flag,
        "body_crc": record.body_crc,
        "crc_ok": True,
        "body_size": len(record.body),
        "body": record.body,
        "born_timestamp": microseconds(record.born_ms),
        "born_host": address_text(record.born_host),
        "born_port": port_of(record.born_host),
        "store_timestamp": microseconds(record.store_ms),
        "store_host": address_text(record.store_host),
        "store_port": port_of(record.store_host),
        "reconsume_times": record.reconsume_times,
        "prepared_transaction_offset": record.prepared_transaction_offset,
        "tags": record.tags,
        "tags_code": record.tags_code,
        "keys": record.keys,
        "unique_key": record.unique_key,
        "msg_id": record.msg_id,
        "producer_group": properties.get("PGROUP"),
        "properties": properties,
        "properties_raw": record.properties_raw,
    }


def microseconds(time_ms: int) -> int | None:
    return time_ms * 1000 if YEAR_1_MS <= time_ms < YEAR_10000_MS else None


def rows_of(batches) -> list[dict]:
    """Return the rows of record batches, timestamps as integers."""
    rows = []
    for batch in batches:
        values = []
        for column in batch.columns:
            if pa.types.is_timestamp(column.type):
                column = column.view(pa.int64())
            as_dict = dict if pa.types.is_map(column.type) else lambda item: item
            values.append([as_dict(item) for item in column.to_pylist()])
        rows += [
            dict(zip(batch.schema.names, row, strict=True)) for row in zip(*values, strict=True)
        ]
    return rows


def records_of(paths: list[Path]) -> list[dict]:
    rows = []
    for path in paths:
        with LogFile(path) as file:
            items = scan_items(
                file.read, base=file.base, size=file.size, data_after=file.data_after
            )
            rows += [row_of(item, path.name) for item in items if isinstance(item, Record)]
    return rows


def write_log(directory: Path, records: list[dict], *, tail: bytes = b"") -> Path:
    raw = b""
    for fields in records:
        raw += encode_record(**{**SMALL, "log_offset": len(raw), **fields})
    path = directory / f"{0:020d}"
    path.write_bytes(raw + tail)
    return path


@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("rows_max", [7, 10_000])
def test_columns_equal_the_records_row_by_row(corpus, name: str, rows_max: int) -> None:
    paths = corpus(name).log_files()

    batches = list(columns.iter_batches(paths, columns=EVERY, rows_max=rows_max, check_crc=True))

    assert rows_of(batches) == records_of(paths)
    assert all(batch.num_rows <= rows_max for batch in batches)
    assert all(batch.schema.equals(columns.SCHEMA) for batch in batches)
    for batch in batches:
        batch.validate(full=True)


@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("split", [997, 65_536])
def test_ranges_that_touch_give_every_record_once(corpus, name: str, split: int) -> None:
    paths = corpus(name).log_files()
    last = corpus(name).rows[-1]
    edges = [*range(int(paths[0].name), last["phy"], split), last["phy"] + 100]
    wanted = ("log_offset", "topic", "body", "properties")

    found = [
        batch
        for start, end in itertools.pairwise(edges)
        for batch in columns.iter_batches(paths, columns=wanted, start=start, end=end)
    ]

    rows = [{name: row[name] for name in wanted} for row in records_of(paths)]
    assert rows_of(found) == rows


def test_batches_with_bodies_are_limited_in_bytes(tmp_path: Path) -> None:
    path = write_log(tmp_path, [{"body": bytes(1000)}] * 30)

    sizes = [
        sum(batch.column("store_size").to_pylist())
        for batch in columns.iter_batches([path], columns=("store_size", "body"), bytes_max=5000)
    ]

    assert sum(sizes) == path.stat().st_size
    assert max(sizes) <= 5000
    assert len(sizes) == 8


def test_record_larger_than_limit_and_window_is_a_batch_alone(tmp_path: Path) -> None:
    big = columns.WINDOW_SIZE + 1000
    path = write_log(tmp_path, [{}, {"body": bytes(big)}, {}])

    batches = columns.iter_batches([path], columns=("body_size", "body"))

    assert [row["body_size"] for row in rows_of(batches)] == [4, big, 4]


def test_log_of_many_windows_is_read_whole(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(columns, "WINDOW_SIZE", 8192)
    monkeypatch.setattr(columns._maker, "window_size", 4096)
    path = write_log(
        tmp_path,
        [{"body": bytes(number * 7 % 5000), "queue_offset": number} for number in range(99)],
    )

    rows = rows_of(columns.iter_batches([path], columns=("queue_offset", "body_size")))

    assert rows == [{"queue_offset": n, "body_size": n * 7 % 5000} for n in range(99)]


def test_all_kinds_of_hosts_and_topics_in_one_batch(tmp_path: Path) -> None:
    kinds = itertools.product((8, 20), (8, 20), (b"T", b"L" * 128, "имя".encode()))
    path = write_log(
        tmp_path,
        [
            {"born_host": bytes(range(born)), "store_host": bytes(range(9, 9 + store)), "topic": t}
            for born, store, t in kinds
        ],
    )

    (batch,) = columns.iter_batches([path], columns=EVERY, check_crc=True)

    assert rows_of([batch]) == records_of([path])
    assert batch.num_rows == 12


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x02\x02",
        b"TAGS\x01\x02KEYS\x01 \x02UNIQ_KEY",
        b"TAGS\x01a\x02TAGS\x01b\x02WAIT\x01true\x02WAIT\x01false\x02",
        b"KEYS\x01 a  b \x02PGROUP\x01g\x01h",
        b"TAGS\x01\xff\xfe\x02KEYS\x01\xe5\x80 x\x02\xff\x01v",
        "TAGS\x01метка\x02KEYS\x01ключ 值".encode(),
        b"XTAGS\x01no\x02TAGSX\x01no\x02tags\x01no\x02TAG\x01no",
        b"\xff\x01a\x02\xfe\x01b\x02\xc3\x02TAGS\x01\xc3",
        b"\x02".join(b"n%d\x01%d" % (n % 70, n) for n in range(150)),
        b"KEYS\x01" + b" ".join(b"k" * n for n in range(40)),
        b"UNIQ_KEY\x01u\x02PGROUP\x01" + b"g" * 300 + b"\x02" + b"n" * 33 + b"\x01" + b"v" * 32,
    ],
)
def test_odd_properties_are_read_as_the_record_decoder_reads_them(
    tmp_path: Path, raw: bytes
) -> None:
    path = write_log(tmp_path, [{}, {"properties": raw}, {"properties": raw}, {}])

    rows = rows_of(columns.iter_batches([path], columns=EVERY, check_crc=True))

    assert rows == records_of([path])


def test_column_may_be_asked_for_twice(corpus) -> None:
    names = ["queue_id", "topic", "queue_id", "topic"]

    (batch, *_) = columns.iter_batches(corpus("kinds").log_files(), columns=names)

    assert batch.schema.names == names
    assert batch.column(0).equals(batch.column(2))
    assert batch.column(1).equals(batch.column(3))


def test_batches_are_limited_in_rows_across_windows(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(columns._maker, "window_size", 1000)
    path = write_log(tmp_path, [{"queue_offset": n} for n in range(100)])

    batches = list(columns.iter_batches([path], columns=EVERY, rows_max=33))

    assert [row["queue_offset"] for row in rows_of(batches)] == list(range(100))
    assert max(batch.num_rows for batch in batches) <= 33


def test_bad_crc_is_told_in_its_column(tmp_path: Path) -> None:
    path = write_log(tmp_path, [{}, {"body_crc": 1}, {"body": b"", "body_crc": 1}])

    checked = columns.iter_batches([path], columns=("crc_ok",), check_crc=True)
    unchecked = columns.iter_batches([path], columns=("crc_ok",))

    assert [row["crc_ok"] for row in rows_of(checked)] == [True, False, True]
    assert [row["crc_ok"] for row in rows_of(unchecked)] == [None] * 3


def walked(file: LogFile) -> Iterator[LogItem]:
    """Yield what a walk finds; a record that lies elsewhere than it says is damage."""
    pos = 0
    for item in scan_items(file.read, base=file.base, size=file.size, check_crc=False):
        if isinstance(item, Record):
            pos += item.size
            yield offset_mismatch(item, pos - item.size, base=file.base) or item
        else:
            pos += getattr(item, "size", 0)
            yield item


@pytest.mark.parametrize("bit", range(0, 8 * 60, 7))
def test_flipped_bit_costs_what_the_walk_says(tmp_path: Path, bit: int) -> None:
    path = write_log(tmp_path, [{"queue_offset": n} for n in range(4)], tail=bytes(99))
    size = (path.stat().st_size - 99) // 4
    flip(path, size + bit // 8, 1 << bit % 8)
    seen = []

    rows = rows_of(
        columns.iter_batches(
            [path], columns=("queue_offset",), on_damage=lambda _, item: seen.append(item)
        )
    )

    with LogFile(path) as file:
        items = list(walked(file))
    assert [row["queue_offset"] for row in rows] == [
        item.queue_offset for item in items if isinstance(item, Record)
    ]
    assert [(item.pos, item.size, item.error.kind) for item in seen] == [
        (item.pos, item.size, item.error.kind) for item in items if hasattr(item, "error")
    ]


def offsets_and_damage(
    path: Path, edges: list[int]
) -> tuple[list[int], list[tuple[int, int, str]]]:
    """Return the queue offsets, and position, size and kind of damage, of ranges that touch."""
    seen: list[tuple[int, int, str]] = []

    def note(_: str, item: Damage) -> None:
        seen.append((item.pos, item.size, str(item.error.kind)))

    offsets = [
        row["queue_offset"]
        for start, end in itertools.pairwise(edges)
        for row in rows_of(
            columns.iter_batches(
                [path], columns=("queue_offset",), start=start, end=end, on_damage=note
            )
        )
    ]
    return offsets, seen


def test_records_that_lie_elsewhere_than_they_say_are_damage(tmp_path: Path) -> None:
    path = write_log(tmp_path, [{"queue_offset": n} for n in range(9)])
    raw = path.read_bytes()
    size = len(raw) // 9
    # The last three once more, one of them changed, and a good record behind them.
    more = encode_record(**{**SMALL, "log_offset": 12 * size, "queue_offset": 9})
    path.write_bytes(raw + raw[6 * size :] + more + bytes(500))

    for edges in ([0, 14 * size], [0, *range(size - 1, 14 * size, size), 14 * size]):
        offsets, seen = offsets_and_damage(path, edges)
        assert offsets == list(range(10))
        assert seen == [(n * size, size, "offset_mismatch") for n in (9, 10, 11)]
    with pytest.raises(RecordDamaged, match="log_offset"):
        list(columns.iter_batches([path]))


@pytest.mark.parametrize("split", [300, 10_000])
def test_damage_at_the_edge_of_a_range_is_told_once(tmp_path: Path, split: int) -> None:
    path = write_log(tmp_path, [{"queue_offset": n} for n in range(9)])
    size = path.stat().st_size // 9
    flip(path, 3 * size + 4, 0xFF)
    for first in range(2 * size, 5 * size, 13):
        _, seen = offsets_and_damage(path, [0, first, first + split])
        assert seen == [(3 * size, size, "bad_magic")], first


def test_a_file_with_a_wrong_name_is_read_once_as_its_records_say(tmp_path: Path) -> None:
    path = write_log(tmp_path, [{"queue_offset": n} for n in range(3)])
    raw, seen = path.read_bytes(), []
    copy = path.with_name(f"{len(raw):020d}")
    copy.write_bytes(raw)

    def rows() -> list[int]:
        seen.clear()
        batches = columns.iter_batches(
            sorted(tmp_path.iterdir()),
            columns=("queue_offset",),
            on_damage=lambda name, item: seen.append((name, item.pos, item.size, item.error.kind)),
        )
        return [row["queue_offset"] for row in rows_of(batches)]

    assert rows() == [0, 1, 2]
    assert seen == [(copy.name, 0, len(raw), DamageKind.WRONG_FILE_NAME)]
    path.unlink()
    assert rows() == [0, 1, 2]
    assert len(seen) == 1
    with pytest.raises(RecordDamaged, match=f"{0:020d}; rename it"):
        list(columns.iter_batches([copy], start=len(raw) + 5))


def test_damage_is_raised_when_nobody_hears_of_it(golden) -> None:
    directory = golden.damaged("03-size-plus") / "commitlog"

    with pytest.raises(RecordDamaged) as caught:
        list(columns.iter_batches(sorted(directory.iterdir())))

    assert caught.value.kind == DamageKind.BAD_LENGTH


def test_topic_that_is_no_text_is_damage_to_its_record_alone(tmp_path: Path) -> None:
    path = write_log(tmp_path, [{"queue_offset": n} for n in range(3)])
    size = path.stat().st_size // 3
    overwrite(path, size + 93, b"\xff")

    offsets, seen = offsets_and_damage(path, [0, 3 * size])

    assert offsets == [0, 2]
    assert seen == [(size, size, DamageKind.BAD_TEXT)]


def test_default_columns_leave_out_what_is_large(corpus) -> None:
    (batch, *_) = columns.iter_batches(corpus("kinds").log_files())

    assert set(EVERY) - set(batch.schema.names) == {"body", "properties", "properties_raw"}
    assert tuple(batch.schema.names) == columns.DEFAULT_COLUMNS


def test_columns_come_in_the_order_they_were_asked_for(corpus) -> None:
    wanted = ("queue_id", "topic", "log_offset")

    (batch, *_) = columns.iter_batches(corpus("kinds").log_files(), columns=wanted)

    assert tuple(batch.schema.names) == wanted
    assert batch.schema.equals(columns.schema_of(wanted))


def test_unknown_column_is_refused_with_the_known_ones(corpus) -> None:
    with pytest.raises(BadCall, match=r"no column nope; there are file, log_offset"):
        list(columns.iter_batches(corpus("kinds").log_files(), columns=("nope",)))


@pytest.mark.parametrize(
    ("time_ms", "year"),
    [(YEAR_1_MS, 1), (YEAR_10000_MS - 1, 9999), (YEAR_1_MS - 1, None), (YEAR_10000_MS, None),
     (-(2**63), None), (2**63 - 1, None), ((2**63 - 1) // 1000, None)],
)  # fmt: skip
def test_time_that_no_calendar_has_is_null(tmp_path: Path, time_ms: int, year: int | None) -> None:
    path = write_log(tmp_path, [{"store_ms": time_ms}])

    (batch,) = columns.iter_batches([path], columns=["store_timestamp"])

    (row,) = batch.to_pylist()
    assert (row["store_timestamp"] and row["store_timestamp"].year) == year


def test_records_of_an_answer_are_one_batch(tmp_path: Path) -> None:
    records = [{"queue_offset": number, "body": b"x" * number} for number in range(50)]
    raw = write_log(tmp_path, records).read_bytes()
    expected = records_of([tmp_path / f"{0:020d}"])

    batch = columns.batch_of(raw, columns=EVERY, check_crc=True)

    assert rows_of([batch]) == [{**row, "file": ""} for row in expected]
    assert columns.batch_of(b"", columns=("topic",)).num_rows == 0


@pytest.mark.parametrize("cut", [1, 50, 100, 130])
def test_an_answer_that_is_no_whole_records_is_damage(tmp_path: Path, cut: int) -> None:
    raw = write_log(tmp_path, [{}, {}]).read_bytes()

    with pytest.raises(RecordDamaged):
        columns.batch_of(raw[:-cut])
    with pytest.raises(RecordDamaged):
        columns.batch_of(raw[:cut] + b"?" + raw[cut:])
