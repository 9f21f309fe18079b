"""Repair: whatever the damage, the copy verifies, and what was whole is still there."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from storefmt.formats.layout import MESSAGE
from storefmt.formats.message import Record
from storefmt.formats.scan import Blank, End, scan_items
from storefmt.offline.repair.placeholder import DAMAGED_TAG, LostMessage, Stamp, fill
from storefmt.offline.repair.repair import RepairResult
from storefmt.offline.views.config import read_config
from storefmt.offline.views.log_scan import walk_file
from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden
from tests.storefmt.broken import flipped, overwrite
from tests.storefmt.offline.damages import DAMAGES, double_a_single_record, swap_single_records
from tests.storefmt.offline.stores import (
    HEALTHY,
    records_in,
    repaired,
    report_of,
    state_of,
    store_of,
)

SEED = 20261121


def records_of(path: Path) -> dict[int, Record]:
    """Return every record by where it lies; placeholders and fillers left out."""
    found = {}
    with StoreDir.open(path) as store:
        for base, span in zip(store.log.bases, store.log.spans, strict=True):
            for pos, item in walk_file(store.log.open(span), base=base):
                if isinstance(item, Record) and DAMAGED_TAG not in (item.tags, item.topic):
                    found[base + pos] = item._replace(log_offset=0, queue_offset=0)
    return found


def healed(path: Path, out: Path) -> RepairResult:
    """Repair a store, and see that what comes out is in order."""
    done = repaired(path, out)
    report = report_of(out, deep=True)
    assert report.ok, [f for f in report.findings if f.severity != "info"][:3]
    return done


@pytest.fixture(scope="module")
def cases(golden: Golden) -> list[str]:
    return [damage["case"] for damage in golden.damages()]


def test_every_damaged_store_becomes_a_healthy_one(
    golden: Golden, cases: list[str], tmp_path: Path
) -> None:
    whole = records_of(golden.store("basic"))
    for case in cases:
        path, out = golden.damaged(case), tmp_path / case
        before, readable = state_of(path), records_of(path)
        done = healed(path, out)
        kept = records_of(out)
        assert kept == {at: record for at, record in readable.items() if at in kept}, case
        assert set(kept) == set(readable), case
        missing = len(whole) - len(kept)
        # How much of a first file was used is only known as far as old queues tell.
        assert done.lost_count == missing or case.startswith("30"), case
        assert state_of(path) == before
        shutil.rmtree(out)


def test_what_is_lost_is_named(golden: Golden, tmp_path: Path) -> None:
    done = repaired(golden.damaged("07-zero-page-early"), tmp_path / "out")

    lost = [act for act in done.actions if act.action == "lost"]
    replaced = [act for act in done.actions if act.action == "replaced"]
    assert [(act.file, act.log_offset, act.size) for act in replaced] == [
        ("commitlog/00000000000000000000", 188412, 4195)
    ]
    expected = {
        (one.topic, one.queue_id, one.queue_offset)
        for one in records_in(golden.store("basic"))
        if 188412 <= one.log_offset < 188412 + 4195
    }
    assert {(act.topic, act.queue_id, act.queue_offset) for act in lost} == expected


def test_a_lost_message_leaves_an_empty_one_in_its_place(golden: Golden, tmp_path: Path) -> None:
    repaired(golden.damaged("01-bitflip-body-early"), tmp_path / "out")

    with StoreDir.open(tmp_path / "out") as store:
        entry = store.queue("ord-events", 2).entry(64)
        record = store.record_at(entry.log_offset)
        rest = store.record_at(entry.log_offset + entry.size)
    assert entry.log_offset == 297161
    assert entry.size + rest.size == 361
    assert record.topic == "ord-events"
    assert record.queue_id == 2
    assert record.queue_offset == 64
    assert record.tags == DAMAGED_TAG
    assert record.body == b""


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_store_is_copied_as_it_is(name: str, golden: Golden, tmp_path: Path) -> None:
    path = store_of(golden, name)

    done = healed(path, tmp_path / "out")

    assert done.lost_count == done.lost_size == 0
    assert records_of(tmp_path / "out") == records_of(path)


@pytest.mark.parametrize("which", ["checkpoint", "mmap", "torn", "hole", "cqlost"])
def test_a_store_after_a_kill_becomes_a_healthy_one(
    which: str, golden: Golden, tmp_path: Path
) -> None:
    path = golden.family(f"crash/{which}", "crashed")

    healed(path, tmp_path / "out")

    assert not (tmp_path / "out" / "abort").exists()


def cut(file: Path, chooser: random.Random) -> None:
    os.truncate(file, chooser.randrange(file.stat().st_size))


def zero_page(file: Path, chooser: random.Random) -> None:
    page_over(file, chooser, bytes(4096))


def garbage_page(file: Path, chooser: random.Random) -> None:
    page_over(file, chooser, chooser.randbytes(4096))


def page_over(file: Path, chooser: random.Random, data: bytes) -> None:
    overwrite(file, chooser.randrange(0, file.stat().st_size - 4096, 512), data)


def swap_pages(file: Path, chooser: random.Random) -> None:
    data = bytearray(file.read_bytes())
    a, b = (chooser.randrange(0, len(data) - 4096, 4096) for _ in range(2))
    data[a : a + 4096], data[b : b + 4096] = data[b : b + 4096], data[a : a + 4096]
    file.write_bytes(data)


def repeat_page(file: Path, chooser: random.Random) -> None:
    data = bytearray(file.read_bytes())
    a, b = (chooser.randrange(0, len(data) - 4096, 4096) for _ in range(2))
    data[b : b + 4096] = data[a : a + 4096]
    file.write_bytes(data)


def flip_bits(file: Path, chooser: random.Random) -> None:
    data = bytearray(file.read_bytes())
    for _ in range(5):
        data[chooser.randrange(len(data))] ^= 1 << chooser.randrange(8)
    file.write_bytes(data)


def remove(file: Path, chooser: random.Random) -> None:
    file.unlink()


@pytest.mark.parametrize(
    "damage",
    [cut, zero_page, garbage_page, swap_pages, repeat_page, flip_bits, remove],
    ids=lambda damage: damage.__name__,
)
def test_generated_damage_of_the_log(
    damage: Callable[[Path, random.Random], None], basic: Path, tmp_path: Path
) -> None:
    files = sorted((basic / "commitlog").iterdir())
    for number in range(8):
        chooser = random.Random(f"{SEED} {number}")
        file = chooser.choice(files)
        whole = file.read_bytes()
        damage(file, chooser)
        out = tmp_path / str(number)
        repaired(basic, out)
        report = report_of(out)
        kinds = {f.kind for f in report.findings if f.severity == "error"}
        # A bit that no CRC covers can turn a field into another value that is valid.
        assert not kinds or damage is flip_bits, (SEED, number, file.name, report.findings[:3])
        file.write_bytes(whole)
        shutil.rmtree(out)


def test_each_derived_file_lost_or_garbage(ipv6: Path, tmp_path: Path) -> None:
    files = [file for part in ("consumequeue", "index") for file in (ipv6 / part).rglob("0*[0-9]")]
    files += [ipv6 / "checkpoint", *(ipv6 / "index").iterdir()]
    for number, file in enumerate(file for file in files if file.is_file()):
        whole = file.read_bytes()
        for content in (None, b"", random.Random(SEED).randbytes(len(whole)), whole[:-1]):
            file.unlink(missing_ok=True)
            if content is not None:
                file.write_bytes(content)
            out = tmp_path / f"{number}"
            done = healed(ipv6, out)
            assert done.lost_count == 0
            shutil.rmtree(out)
        file.write_bytes(whole)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_of_whole_files(damage: Callable[[Path], None], basic: Path, tmp_path: Path) -> None:
    damage(basic)
    readable = records_of(basic)

    healed(basic, tmp_path / "out")

    assert records_of(tmp_path / "out") == readable
    assert not report_of(basic).ok


def test_files_of_one_record_find_back_to_their_places(basic: Path, tmp_path: Path) -> None:
    whole = records_of(basic)
    swap_single_records(basic)

    done = repaired(basic, tmp_path / "out")

    assert done.lost_count == done.lost_size == 0
    assert records_of(tmp_path / "out") == whole


def test_a_copy_in_the_place_of_a_file_is_no_message(basic: Path, tmp_path: Path) -> None:
    whole = records_of(basic)
    double_a_single_record(basic)

    done = repaired(basic, tmp_path / "out")

    assert done.lost_count == 1
    assert len(records_of(tmp_path / "out")) == len(whole) - 1


def test_topics_are_made_of_queues_where_none_are_listed(golden: Golden, tmp_path: Path) -> None:
    path, out = golden.store("basic"), tmp_path / "out"
    with StoreDir.open(path) as store:
        listed = read_config(store).topics.topics
    shutil.rmtree(path / "config")

    done = repaired(path, out)

    with StoreDir.open(out) as store:
        made, queues = read_config(store).topics.topics, store.queues()
    with_queues = {topic for topic, _ in queues}
    assert set(made) == {topic for topic in listed if topic in with_queues}
    assert all(made[topic].read_queue_nums <= listed[topic].read_queue_nums for topic in made)
    assert all(queue_id < made[topic].read_queue_nums for topic, queue_id in queues)
    assert [action.file for action in done.actions if action.action == "restored"] == [
        "config/topics.json"
    ]


def test_a_flipped_bit_that_queues_can_tell_is_turned_back(ipv6: Path, tmp_path: Path) -> None:
    file = ipv6 / "commitlog" / f"{0:020d}"
    whole = file.read_bytes()
    records = [one for one in records_in(ipv6) if one.topic == "v6-44-t"]
    record = records[9]
    assert len({r.queue_id for r in records}) > 1
    data = whole[record.log_offset : record.log_offset + record.size]
    places = {span.field.name: span for span in MESSAGE.spans(data)}
    for name in ("queue_id", "queue_offset", "log_offset", "topic"):
        span = places[name]
        for bit in range(8 * span.size):
            start = record.log_offset + span.pos
            changed = flipped(whole, 8 * start + bit)
            file.write_bytes(changed)
            if name == "topic" and not is_utf8(changed[start : start + span.size]):
                # Bytes that are no text are damage of the whole record.
                continue
            out = tmp_path / f"{name}{bit}"
            done = repaired(ipv6, out)
            assert (out / "commitlog" / file.name).read_bytes() == whole, (name, bit)
            assert [act.action for act in done.actions] == ["corrected"], (name, bit)
            shutil.rmtree(out)


def test_a_record_with_a_damaged_body_and_queue_is_lost_to_the_queue_that_points_at_it(
    golden: Golden, tmp_path: Path
) -> None:
    path, out = golden.store("ipv6"), tmp_path / "out"
    record = [one for one in records_in(path) if one.topic == "v6-44-t"][9]
    with StoreDir.open(path) as store:
        queues = set(store.queues())
    log_file = path / "commitlog" / f"{0:020d}"
    data = log_file.read_bytes()[record.log_offset : record.log_offset + record.size]
    crc = next(span for span in MESSAGE.spans(data) if span.field.name == "body_crc")
    # The last byte of the CRC, the number of the queue, and a byte of the flag behind it.
    overwrite(log_file, record.log_offset + crc.pos + 3, b"damage")

    done = healed(path, out)

    lost = [act for act in done.actions if act.action == "lost"]
    assert [(act.topic, act.queue_id, act.queue_offset) for act in lost] == [
        (record.topic, record.queue_id, record.queue_offset)
    ]
    with StoreDir.open(out) as store:
        assert set(store.queues()) == queues


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


STAMP = Stamp(1_763_700_000_000, bytes([10, 0, 0, 1, 0, 0, 42, 159]))


@pytest.mark.parametrize("to_file_end", [False, True])
def test_a_fill_is_valid_at_every_size(to_file_end: bool) -> None:
    slots = [LostMessage("some-topic", 3, 7), LostMessage("other", 0, 8)]
    for size in [*range(8 if to_file_end else 91, 900), 4 << 20]:
        for count in range(3):
            data = bytearray(size)
            for at, piece in fill(4096, size, slots[:count], STAMP, to_file_end=to_file_end):
                data[at - 4096 : at - 4096 + len(piece)] = piece

            file = bytes(data)

            def read(pos: int, count: int, file: bytes = file) -> bytes:
                return file[pos : pos + count]

            items = list(scan_items(read, base=4096, size=size))

            records = [item for item in items if isinstance(item, Record)]
            left = size - sum(record.size for record in records)
            if to_file_end:
                assert items[-1] == Blank(size - left, left, left)
            else:
                assert left == 0
            assert not [item for item in items if isinstance(item, End)]
            assert all(r.log_offset >= 4096 and r.store_ms == STAMP.store_ms for r in records)


def test_a_hostile_topic_gets_no_directory(basic: Path, tmp_path: Path) -> None:
    file = basic / "commitlog" / f"{0:020d}"
    data = file.read_bytes()
    assert b"\x09clicks_v1" in data
    file.write_bytes(data.replace(b"\x09clicks_v1", b"\x09../../../", 3))
    # The old queues would tell the right name.
    shutil.rmtree(basic / "consumequeue")

    done = healed(basic, tmp_path / "out")

    assert [act.reason for act in done.actions if act.action == "replaced"] == ["bad_topic"] * 3
    assert sorted(each.name for each in tmp_path.iterdir()) == ["out"]
