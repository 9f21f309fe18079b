"""Carving: records out of any bytes, whatever lies between them."""

import os
import random
from pathlib import Path

import pytest

from storefmt.errors import BadCall, NotInStore
from storefmt.formats.message import Record
from storefmt.offline.output_dir import OutputDirectory
from storefmt.offline.repair.carve import CarvedLog, Carver, files_to_carve
from tests.golden import Golden
from tests.storefmt.offline.stores import records_in, repaired, report_of

SEED = 20261121


def carve(*paths: Path, dedupe: bool = True, check_crc: bool = True) -> list[Record]:
    carver = Carver(dedupe=dedupe, check_crc=check_crc)
    return [found.record for found in carver.search(list(paths))]


@pytest.mark.parametrize("name", ["basic", "kinds", "ipv6", "v5", "retention"])
def test_every_record_of_a_store_is_found_once(name: str, golden: Golden) -> None:
    path = golden.store(name)

    assert carve(*files_to_carve(path / "commitlog")) == records_in(path)


def test_a_file_that_was_shifted_cut_and_renamed(basic: Path, tmp_path: Path) -> None:
    first = (basic / "commitlog" / f"{0:020d}").read_bytes()
    whole = records_in(basic)
    orphan = tmp_path / "lost+found-17"
    orphan.write_bytes(random.Random(SEED).randbytes(777) + first[1000:100_000])

    found = list(Carver().search([orphan]))

    inside = [r for r in whole if r.log_offset >= 1000 and r.log_offset + r.size <= 100_000]
    assert [each.record for each in found] == inside
    assert [each.pos for each in found] == [r.log_offset - 1000 + 777 for r in inside]
    assert not any(each.in_place for each in found)


def test_copies_count_once(ipv6: Path, tmp_path: Path) -> None:
    file = ipv6 / "commitlog" / f"{0:020d}"
    (tmp_path / "copy").write_bytes(file.read_bytes() * 2)
    carver = Carver()

    found = list(carver.search([file, tmp_path / "copy"]))

    assert len(found) == len(records_in(ipv6)) == carver.count.records
    assert carver.count.copies == 2 * carver.count.records
    assert len(carve(file, tmp_path / "copy", dedupe=False)) == 3 * carver.count.records


def test_damaged_records_are_passed_over_or_taken_as_they_are(golden: Golden) -> None:
    path = golden.damaged("01-bitflip-body-early")
    files = files_to_carve(path / "commitlog")

    assert len(carve(*files)) == 1419
    assert len(carve(*files, check_crc=False)) == 1420


def test_a_page_of_zeros_costs_only_what_it_hits(golden: Golden) -> None:
    path = golden.damaged("07-zero-page-early")

    assert carve(*files_to_carve(path / "commitlog")) == records_in(path)


def test_carved_records_become_a_store(basic: Path, tmp_path: Path) -> None:
    whole = records_in(basic)
    heap = tmp_path / "heap.bin"
    parts = [file.read_bytes() for file in sorted((basic / "commitlog").iterdir())]
    random.Random(SEED).shuffle(parts)
    heap.write_bytes(b"x".join(parts))
    log = CarvedLog(OutputDirectory.make(tmp_path / "log", source=basic), file_size=262144)
    for found in Carver().search([heap]):
        assert log.put(found)
    log.close()

    done = repaired(tmp_path / "log", tmp_path / "store")

    assert done.lost_count == 0
    assert records_in(tmp_path / "store") == whole
    findings = report_of(tmp_path / "store").findings
    assert {f.kind for f in findings if f.severity != "info"} <= {"config_missing"}


def test_of_two_records_for_one_place_the_first_stays(ipv6: Path, tmp_path: Path) -> None:
    first = next(Carver().search(files_to_carve(ipv6 / "commitlog")))
    log = CarvedLog(OutputDirectory.make(tmp_path / "log", source=ipv6))

    assert log.put(first)
    assert not log.put(first)
    assert not log.put(first._replace(record=first.record._replace(log_offset=-5)))
    assert not log.put(first._replace(record=first.record._replace(log_offset=(1 << 30) - 8)))
    log.close()
    with pytest.raises(BadCall):
        CarvedLog(OutputDirectory.make(tmp_path / "other", source=ipv6), file_size=0)


def test_any_bytes_give_an_answer(tmp_path: Path) -> None:
    chooser = random.Random(SEED)
    magic = (0xDAA320A7).to_bytes(4, "big")
    for number in range(200):
        data = bytearray(chooser.randbytes(2000))
        for _ in range(20):
            at = chooser.randrange(len(data))
            data[at : at + 8] = (
                chooser.choice((bytes(4), b"\0\0\0\x7b", b"\x7f\xff\xff\xff")) + magic
            )
        file = tmp_path / f"{number}"
        file.write_bytes(data)
        assert carve(file) == []


def test_holes_cost_nothing_and_links_are_not_followed(ipv6: Path, tmp_path: Path) -> None:
    data = (ipv6 / "commitlog" / f"{0:020d}").read_bytes()
    sparse = tmp_path / "dir" / "sparse"
    sparse.parent.mkdir()
    with sparse.open("wb") as file:
        file.seek(50 << 30)
        file.write(data)
    os.symlink(sparse, tmp_path / "dir" / "link")
    carver = Carver()

    found = list(carver.search(files_to_carve(tmp_path / "dir")))

    assert [each.record for each in found] == records_in(ipv6)
    assert carver.count.size < 1 << 20
    with pytest.raises(NotInStore):
        files_to_carve(tmp_path / "nothing")
