"""Sealing: every flipped bit of a log is found, and named with byte and field."""

import os
from pathlib import Path

import pytest

from storefmt.errors import BadCall
from storefmt.formats.message import blank
from storefmt.offline.verify.seal import CHECKSUMS, SealedFile, flipped_bit, read_sealed, seal
from storefmt.offline.views.storedir import StoreDir
from tests.records import record_bytes
from tests.storefmt.broken import changed, flip, flipped
from tests.storefmt.offline.stores import report_of, state_of

FILE_SIZE = 256
SIZE = 101
"""Bytes of a record with a body of three."""


def small_record(log_offset: int, queue_offset: int, body: bytes) -> bytes:
    return record_bytes(
        queue_offset=queue_offset,
        log_offset=log_offset,
        born_ms=1_763_700_000_000,
        store_ms=1_763_700_000_001,
        body=body,
        properties=b"TAGS\x01a",
    )


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Return a store of one closed log file and one that is still written to."""
    log = tmp_path / "store" / "commitlog"
    log.mkdir(parents=True)
    first = small_record(0, 0, b"one") + small_record(SIZE, 1, b"two")
    closed = first + blank(FILE_SIZE - len(first))
    (log / f"{0:020d}").write_bytes(closed.ljust(FILE_SIZE, b"\0"))
    newest = small_record(FILE_SIZE, 2, b"three")
    (log / f"{FILE_SIZE:020d}").write_bytes(newest.ljust(FILE_SIZE, b"\0"))
    return tmp_path / "store"


def sealed_findings(path: Path) -> list[tuple[str, str, int, str]]:
    report = report_of(path)
    kinds = {"flipped_bit", "not_as_sealed", "seal_damaged", "not_sealed", "missing_file"}
    return [
        (f.kind, f.file, f.pos, f.field)
        for f in report.findings
        if f.kind in kinds and f.file != "checkpoint"
    ]


def seal_all(path: Path) -> list[str]:
    with StoreDir.open(path) as store:
        return [done.result for done in seal(store, path / CHECKSUMS)]


def test_every_flipped_bit_of_a_log_is_found_at_its_byte(small: Path) -> None:
    assert seal_all(small) == ["sealed", "sealed"]
    assert sealed_findings(small) == []

    for file in sorted((small / "commitlog").iterdir()):
        whole = file.read_bytes()
        covered = read_sealed(small / CHECKSUMS / file.name).size
        for bit in range(8 * len(whole)):
            with changed(file, flipped(whole, bit)):
                found = sealed_findings(small)
            if bit // 8 < covered:
                assert [f[:3] for f in found] == [
                    ("flipped_bit", f"commitlog/{file.name}", bit // 8)
                ]
            else:
                # Free space: the byte is named, or the whole head that it makes.
                assert [f[0] for f in found] == ["not_as_sealed"]
                assert found[0][2] == bit // 8


def test_a_flipped_bit_is_named_by_its_field(small: Path) -> None:
    seal_all(small)
    file = small / "commitlog" / f"{0:020d}"
    flip(file, SIZE + 43)

    assert sealed_findings(small) == [
        ("flipped_bit", f"commitlog/{file.name}", SIZE + 43, "born_ms"),
    ]


def test_more_than_one_bit_names_the_record(small: Path) -> None:
    seal_all(small)
    file = small / "commitlog" / f"{0:020d}"
    flip(file, SIZE + 16, 0x81)

    assert sealed_findings(small) == [("not_as_sealed", f"commitlog/{file.name}", SIZE, "")]


def test_what_a_broker_wrote_later_is_no_finding_and_is_sealed_next(small: Path) -> None:
    seal_all(small)
    file = small / "commitlog" / f"{FILE_SIZE:020d}"
    data = file.read_bytes().rstrip(b"\0")
    at = FILE_SIZE + len(data)
    file.write_bytes((data + small_record(at, 3, b"4")).ljust(FILE_SIZE, b"\0"))

    assert sealed_findings(small) == []
    assert seal_all(small) == ["unchanged", "extended"]


def test_what_changed_is_never_sealed_again(small: Path) -> None:
    seal_all(small)
    file = small / "commitlog" / f"{0:020d}"
    flip(file, 20)
    before = state_of(small / CHECKSUMS)

    assert seal_all(small) == ["differs", "unchanged"]
    assert state_of(small / CHECKSUMS) == before


def test_a_sealed_file_that_is_gone_is_missed(small: Path) -> None:
    seal_all(small)
    (small / "commitlog" / f"{FILE_SIZE:020d}").unlink()

    assert sealed_findings(small) == [("missing_file", f"commitlog/{FILE_SIZE:020d}", 0, "")]


def test_a_hostile_name_of_a_log_file_is_no_trouble(small: Path) -> None:
    file = small / "commitlog" / f"{FILE_SIZE:020d}"
    file.rename(file.with_name("9" * 20))

    assert seal_all(small) == ["sealed"]
    assert seal_all(small) == ["unchanged"]


def test_a_damaged_checksum_file_does_not_accuse_the_log(small: Path) -> None:
    seal_all(small)
    path = small / CHECKSUMS / f"{0:020d}"
    whole = path.read_bytes()
    for bit in range(8 * len(whole)):
        path.write_bytes(flipped(whole, bit))
        assert [f[:2] for f in sealed_findings(small)] == [
            ("seal_damaged", f"checksums/{path.name}")
        ]
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert [f[0] for f in sealed_findings(small)] == ["seal_damaged"]


def test_a_golden_store_stays_healthy_when_it_is_sealed(basic: Path) -> None:
    before = state_of(basic)

    results = seal_all(basic)

    report = report_of(basic)
    after = {n: s for n, s in state_of(basic).items() if not n.startswith(CHECKSUMS)}
    assert set(results) == {"sealed"}
    assert report.ok
    assert after == before


def test_a_directory_of_other_files_is_refused(small: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("x")
    os.symlink(tmp_path / "notes", small / CHECKSUMS)
    with StoreDir.open(small) as store:
        for target in (tmp_path / "notes", small / CHECKSUMS):
            with pytest.raises(BadCall):
                list(seal(store, target))


def test_sealed_both_ways_and_bits_beyond_reach() -> None:
    sealed = SealedFile(4096, 30, bytes.fromhex("0000001e0badf00d"))

    assert SealedFile.decode(sealed.encode()) == sealed
    assert [tuple(part) for part in sealed] == [(0, 30, 0x0BADF00D)]
    assert flipped_bit(1, 2, 1 << 30) is None
