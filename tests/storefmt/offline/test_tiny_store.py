"""Every length, bit, page, record and file of a small store: what verify says is right.

``make test-full`` takes samples, ``make soak`` tries as many as there is time for.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import TypeVar

import pytest

from storefmt.formats import layout
from storefmt.formats.message import Record
from storefmt.formats.scan import scan_items
from storefmt.offline import Report, StoreDir, verify
from storefmt.offline.repair.rebuild import StoreShape
from storefmt.offline.verify.findings import Severity
from tests import soak
from tests.storefmt.broken import changed, flipped
from tests.storefmt.offline.stores import rebuilt, report_of, state_of
from tests.storefmt.offline.tiny import (
    INDEX_ENTRY_COUNT,
    INDEX_SLOT_COUNT,
    QUEUE_FILE_SIZE,
    RECORD_COUNT,
    tiny_store,
)
from tests.storefmt.offline.verify.test_any_damage import assert_answer_or_reason

T = TypeVar("T")
SOAK = pytest.mark.soak
STEPS = (pytest.param(1, marks=[SOAK, pytest.mark.timeout(0)]),)
MINUTES_A_FILE = 0.2
PARTS = ("commitlog", "consumequeue", "index", "checkpoint")
UNSEEN_FIELDS = {
    "flag", "sys_flag", "born_ms", "born_host", "store_ms", "store_host", "reconsume_times",
    "prepared_transaction_offset",
}  # fmt: skip
"""No other byte of a store says what they must be; ``store seal`` is for them."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tiny_store(tmp_path)


def look_at(path: Path) -> Report:
    """Ask everything of a store that may be damaged; only a StoreError is an answer."""
    with StoreDir.open(path) as store:
        assert_answer_or_reason(lambda: store.info())
        assert_answer_or_reason(lambda: list(store.records()))
        assert_answer_or_reason(lambda: store.checkpoint())
        assert_answer_or_reason(lambda: store.query_key("orders", "k2"))
        for key in store.queues():
            assert_answer_or_reason(lambda key=key: list(store.queue(*key).entries()))
        return verify(store, deep=True)


def picked(cases: Sequence[T], step: int) -> Iterable[T]:
    """Return every ``step``-th case; if that is each of them, as many as there is time for."""
    return soak.some(cases, minutes=MINUTES_A_FILE) if step == 1 else cases[::step]


def files_of(path: Path, *parts: str) -> list[Path]:
    found = (file for part in parts for file in (path / part, *(path / part).rglob("*")))
    return sorted(file for file in found if file.is_file())


def files_told(report: Report) -> set[str]:
    return {one.file for one in report.findings if one.severity is not Severity.INFO}


def records_of(file: Path) -> list[tuple[int, int]]:
    """Return (position, size) of each record of a log file."""
    data = file.read_bytes()
    items = scan_items(
        lambda pos, size: data[pos : pos + size], base=int(file.name), size=len(data)
    )
    return [(i.log_offset - int(file.name), i.size) for i in items if isinstance(i, Record)]


def test_healthy_store_has_no_finding(store: Path) -> None:
    for deep in (False, True):
        report = report_of(store, deep=deep)
        assert report.findings == []
        assert report.records == RECORD_COUNT


@pytest.mark.parametrize("step", [*STEPS, 29])
def test_every_length_of_every_file(store: Path, step: int) -> None:
    for file in files_of(store, *PARTS, "config"):
        whole, name = file.read_bytes(), str(file.relative_to(store))
        used = len(whole.rstrip(b"\0"))
        for length in chain((used - 1, len(whole) - 1), picked(range(len(whole)), step)):
            with changed(file, whole[:length]):
                report = look_at(store)
            # How long a lone index file must be only its broker knows.
            if file.parent.name != "config" and (file.parent.name != "index" or length < used):
                assert name in files_told(report), (name, length)
            lost = [one for one in report.findings if one.severity is Severity.ERROR]
            if file.name == "checkpoint":
                assert not lost
            elif not name.startswith("commitlog"):
                assert {one.file for one in lost} <= {name}, (name, length, lost)


@pytest.mark.parametrize("step", [*STEPS, 83])
def test_every_bit_of_the_log(store: Path, step: int) -> None:
    for file in files_of(store, "commitlog"):
        whole, name = file.read_bytes(), str(file.relative_to(store))
        records = records_of(file)
        for bit in picked(range(8 * sum(records[-1])), step):
            pos, size = next(one for one in reversed(records) if one[0] <= bit // 8)
            if bit // 8 >= pos + size:
                continue
            field = next(
                span.field.name
                for span in layout.MESSAGE.spans(whole, pos)
                if span.pos <= bit // 8 < span.pos + span.size
            )
            with changed(file, flipped(whole, bit)):
                report, deep = report_of(store), look_at(store)
            assert deep.records >= RECORD_COUNT - 1, (name, bit, field)
            if field == "properties":
                # Which of the two is wrong, a property or what was made of it, nobody can say.
                assert not deep.ok, (name, bit, field)
            elif field in UNSEEN_FIELDS:
                # Next to a last record that is too old, the checkpoint looks too new.
                # And the index knows when its first and its last record came.
                (index,) = files_of(store, "index")
                times = {"checkpoint", str(index.relative_to(store))}
                also = times if field == "store_ms" else set[str]()
                assert files_told(report) <= {name} | also, (name, bit, field)
            else:
                assert files_told(report) == {name}, (name, bit, field, report.findings)
                # Twice where a value is impossible, and not that of the queue either.
                assert len({one.field for one in report.findings}) == 1, (name, bit, field)


@pytest.mark.parametrize("at_byte", [4, 8, 28, 84])
def test_damage_of_the_last_record_is_told_of_no_other_file(store: Path, at_byte: int) -> None:
    file = files_of(store, "commitlog")[-1]
    pos, _ = records_of(file)[-1]

    with changed(file, flipped(file.read_bytes(), 8 * (pos + at_byte))):
        report = report_of(store)

    assert [one.file for one in report.findings] == [str(file.relative_to(store))]


def test_index_that_says_it_reaches_further_than_it_does_is_told(store: Path) -> None:
    (file,) = files_of(store, "index")
    with changed(file, flipped(file.read_bytes(), 8 * 28)):
        found = report_of(store).findings
        (store / "abort").touch()
        running = report_of(store).findings

    assert [(one.kind, one.pos, one.field) for one in found] == [
        ("index_header", 24, "end_log_offset")
    ]
    assert [one.kind for one in running] == ["abort"]


@pytest.mark.parametrize("step", [*STEPS, 31])
def test_every_bit_of_the_queues(store: Path, step: int) -> None:
    for file in files_of(store, "consumequeue"):
        whole, name = file.read_bytes(), str(file.relative_to(store))
        for bit in picked(range(8 * len(whole)), step):
            with changed(file, flipped(whole, bit)):
                report = look_at(store)
            assert files_told(report) == {name}, (name, bit, report.findings)
            assert any(one.pos // 20 == bit // 160 for one in report.findings), (name, bit)


def test_last_entry_of_a_queue_file_is_told_of_no_log_file(store: Path) -> None:
    file = store / "consumequeue" / "orders" / "0" / f"{0:020d}"

    with changed(file, flipped(file.read_bytes(), 8 * (QUEUE_FILE_SIZE - 20))):
        report = report_of(store)

    assert files_told(report) == {str(file.relative_to(store))}


@pytest.mark.parametrize("step", [*STEPS, 31])
def test_every_bit_of_the_index(store: Path, step: int) -> None:
    (file,) = files_of(store, "index")
    whole, name = file.read_bytes(), str(file.relative_to(store))
    entries_pos = 40 + 4 * INDEX_SLOT_COUNT
    for bit in picked(range(8 * len(whole)), step):
        pos = bit // 8
        with changed(file, flipped(whole, bit)):
            report = look_at(store)
        assert files_told(report) <= {name}, (bit, report.findings)
        # Entry 0 is never used, and what lies behind the last entry is free.
        in_use = pos < entries_pos or entries_pos + 20 <= pos < len(whole.rstrip(b"\0"))
        if in_use:
            assert not report.ok, bit


@pytest.mark.parametrize("step", [*STEPS, 7])
def test_every_bit_of_the_checkpoint(store: Path, step: int) -> None:
    file = store / "checkpoint"
    whole = file.read_bytes()
    for bit in picked(range(8 * 64), step):
        with changed(file, flipped(whole, bit)):
            report = look_at(store)
        assert files_told(report) <= {"checkpoint"}
        assert all(one.severity is not Severity.ERROR for one in report.findings)


@pytest.mark.parametrize("step", [pytest.param(1, marks=SOAK), 4])
def test_records_zeroed_doubled_and_swapped(store: Path, step: int) -> None:
    for file in files_of(store, "commitlog"):
        whole, name = file.read_bytes(), str(file.relative_to(store))
        places = records_of(file)
        for a, b in picked(list(combinations(places, 2)), step):
            for broken, lost in (
                (put(whole, a, bytes(a[1])), 1),
                (put(whole, b, at(whole, a)), 1),
                (put(put(whole, b, at(whole, a)), a, at(whole, b)), 2),
            ):
                if (a[1] != b[1] and lost == 2) or len(broken) != len(whole):
                    continue
                with changed(file, broken):
                    report = look_at(store)
                assert name in files_told(report)
                assert report.records >= RECORD_COUNT - lost


def at(data: bytes, place: tuple[int, int]) -> bytes:
    return data[place[0] : place[0] + place[1]]


def put(data: bytes, place: tuple[int, int], other: bytes) -> bytes:
    """Return ``data`` with other bytes at a place: cut, or zeros after them, where sizes differ."""
    pos, size = place
    return data[:pos] + other[:size].ljust(size, b"\0") + data[pos + size :]


@pytest.mark.parametrize("step", [pytest.param(1, marks=SOAK), 13])
@pytest.mark.parametrize("page_size", [20, 64, 512])
def test_pages_zeroed_doubled_and_swapped(store: Path, page_size: int, step: int) -> None:
    # 20 bytes of a record may well be fields that nothing else tells of.
    for file in files_of(store, *(PARTS[:3] if page_size > 20 else PARTS[1:3])):
        whole, name = file.read_bytes(), str(file.relative_to(store))
        pages = [(pos, page_size) for pos in range(0, len(whole) - page_size + 1, page_size)]
        for a, b in picked(list(combinations(pages, 2)), step):
            for broken in (
                put(whole, a, bytes(page_size)),
                put(whole, b, at(whole, a)),
                put(put(whole, b, at(whole, a)), a, at(whole, b)),
            ):
                if broken == whole:
                    continue
                with changed(file, broken):
                    report = look_at(store)
                known = {one.file for one in report.findings}
                assert name in known or only_free(whole, broken, name), (name, a, b)


def only_free(whole: bytes, broken: bytes, name: str) -> bool:
    """Return whether bytes changed that an index file does not use."""
    first = next(pos for pos, (x, y) in enumerate(zip(whole, broken, strict=True)) if x != y)
    return name.startswith("index") and first >= len(whole.rstrip(b"\0"))


def test_files_swapped_and_doubled(store: Path) -> None:
    for part in ("commitlog", "consumequeue"):
        for a, b in combinations(files_of(store, part), 2):
            first, second = a.read_bytes(), b.read_bytes()
            for data in (second, first):
                with changed(a, second), changed(b, data if data == first else second):
                    report = look_at(store)
                told = files_told(report)
                assert told & {str(one.relative_to(store)) for one in (a, b)}, (a, b)


def derived_of(store: Path) -> list[Path]:
    return files_of(store, "consumequeue", "index")


@pytest.mark.parametrize("which", [*range(9)])
def test_each_derived_file_deleted_is_told(store: Path, which: int) -> None:
    file = derived_of(store)[which]
    name = str(file.relative_to(store))
    file.unlink()

    report = look_at(store)

    if name.startswith("index"):
        # Without its index a store is whole: queries read the log.
        with StoreDir.open(store) as opened:
            assert len(opened.query_key("orders", "k2")) > 0
        assert files_told(report) <= {"index"}
    else:
        assert files_told(report) == {name}
        assert all(one.kind.startswith(("queue", "missing")) for one in report.findings)


def test_each_other_file_deleted_is_an_answer(store: Path) -> None:
    for file in files_of(store, "checkpoint", "config", "lock"):
        name, data = str(file.relative_to(store)), file.read_bytes()
        file.unlink()
        report = look_at(store)
        file.write_bytes(data)

        assert files_told(report) <= {name}, name


@pytest.mark.parametrize("step", [pytest.param(1, marks=SOAK), 23])
@pytest.mark.parametrize("damage", [Path.unlink, lambda file: os.truncate(file, 30)])
def test_derived_files_come_back_as_they_were(
    store: Path, tmp_path: Path, step: int, damage: Callable[[Path], None]
) -> None:
    derived = derived_of(store)
    whole = {file: file.read_bytes() for file in derived}
    wanted = contents(store)
    shape = StoreShape(
        queue_file_size=QUEUE_FILE_SIZE,
        index_slot_count=INDEX_SLOT_COUNT,
        index_entry_count=INDEX_ENTRY_COUNT,
    )
    out = tmp_path / "out"
    for subset in picked(range(1, 1 << len(derived)), step):
        for number, file in enumerate(derived):
            if subset >> number & 1:
                damage(file)
        before = state_of(store)

        rebuilt(store, out, shape)

        assert contents(out) == wanted, f"{subset:b}"
        assert state_of(store) == before
        shutil.rmtree(out)
        for file, data in whole.items():
            file.write_bytes(data)


def contents(root: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(root)): file.read_bytes()
        for file in files_of(root, "consumequeue", "index")
    }


def test_log_file_missing_is_told_and_the_rest_is_read(store: Path) -> None:
    for number, file in enumerate(files_of(store, "commitlog")):
        lost, data = len(records_of(file)), file.read_bytes()
        file.unlink()
        report = look_at(store)
        file.write_bytes(data)

        assert report.records == RECORD_COUNT - lost
        # A broker deletes its oldest file when the time comes, and queue files only whole.
        assert report.ok == (number == 0)
