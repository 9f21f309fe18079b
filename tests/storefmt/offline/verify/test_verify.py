"""Verification against stores that real brokers wrote, whole and damaged."""

import os
import shutil
from pathlib import Path

import pytest

from storefmt.offline import Finding, Report, Severity, StoreDir
from tests.golden import Golden
from tests.storefmt.broken import flip, overwrite
from tests.storefmt.offline.stores import HEALTHY, report_of, state_of, store_of

NOT_DAMAGE = {
    "28-alien-dirs": "a 4.9 broker passes over queue directories whose name is no number",
    "28b-alien-rootfile": "no broker looks at files beside the store's directories",
    "32-abort-only": "a broker that was killed leaves it; everything else is sound",
}
"""Cases that every message survives and every broker starts with: told as info, ok stays true."""

ELSEWHERE = {
    # The finding names the directory: the broker never looks at what lies in it.
    "28-alien-dirs": "consumequeue/stray-topic/not-a-number",
    # All files are gone, so the damage is one finding about the directory.
    "41-commitlog-empty": "commitlog",
    # The .bak that was put beside it is whole; the file itself was emptied.
    "24-json-empty": "config/topics.json",
}
RECORDS_LOST = {
    "01": 1, "02": 1, "03": 1, "04": 1, "05": 1, "06": 1, "07": 10, "08": 2, "30": 959,
    "31": 1, "33": 1, "34": 1, "35": 1, "39": 1, "40": 1, "41": 1420,
}  # fmt: skip
"""Records of the 1420 that a case makes unreadable, by its number."""


def cases() -> list[str]:
    return [damage["case"] for damage in Golden(Path(os.devnull)).damages()]


def check(path: Path) -> Report:
    return report_of(path, deep=True)


def worse_than_info(report: Report) -> list[Finding]:
    return [finding for finding in report.findings if finding.severity is not Severity.INFO]


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_store_has_no_finding(golden: Golden, name: str) -> None:
    report = check(store_of(golden, name))

    assert worse_than_info(report) == []
    assert report.ok
    assert {finding.kind for finding in report.findings} <= {"offset_beyond_end"}


def test_report_counts_files_records_and_bytes(golden: Golden) -> None:
    path = golden.store("basic")

    report = check(path)

    assert report.records == golden.expected("basic")["scan"]["messages"]
    assert report.files == sum(1 for file in path.rglob("*") if file.is_file())
    assert 3_921_827 <= report.bytes <= 4_131_584


def test_offset_beyond_the_end_is_worth_knowing_and_no_damage(golden: Golden) -> None:
    report = check(golden.store("basic"))

    found = [finding for finding in report.findings if finding.kind == "offset_beyond_end"]

    assert [(one.severity, one.file) for one in found] == [
        (Severity.INFO, "config/consumerOffset.json")
    ]
    assert report.ok


@pytest.mark.parametrize("case", cases())
def test_damage_is_found_at_its_file_and_byte(golden: Golden, case: str) -> None:
    damage = next(one for one in golden.damages() if one["case"] == case)

    report = check(golden.damaged(case))

    found = [finding for finding in report.findings if finding.kind != "offset_beyond_end"]
    for change in damage["changes"]:
        assert any(covers(finding, case, change) for finding in found), (change, found)
    assert report.ok is (case in NOT_DAMAGE)
    if case in NOT_DAMAGE:
        assert {finding.severity for finding in found} == {Severity.INFO}


def covers(finding: Finding, case: str, change: dict) -> bool:
    files = {ELSEWHERE.get(case, change["file"]), change.get("with")}
    if finding.file not in files:
        return False
    at = change.get("offset", change.get("to", 0))
    if case == "17-index-slot-garbage":
        return finding.pos == at
    return finding.pos <= at <= finding.pos + finding.size


@pytest.mark.parametrize("case", cases())
def test_other_records_are_still_read(golden: Golden, case: str) -> None:
    report = report_of(golden.damaged(case))

    assert report.records == 1420 - RECORDS_LOST.get(case[:2], 0)


@pytest.mark.parametrize("case", ["01", "03", "04", "05", "33", "34", "35", "36", "37", "39", "40"])
def test_one_damaged_record_gives_one_finding(golden: Golden, case: str) -> None:
    name = next(damage["case"] for damage in golden.damages() if damage["case"][:2] == case)

    report = report_of(golden.damaged(name))

    assert len(worse_than_info(report)) == 1


@pytest.mark.parametrize("variant", ["torn", "hole"])
@pytest.mark.parametrize("member", ["crashed", "recovered"])
def test_lost_tail_is_found(golden: Golden, variant: str, member: str) -> None:
    # A real recovery moves the write position and wipes nothing: the torn bytes, and the
    # queue entries that pointed behind them, are still there to be told.
    report = check(golden.family(f"crash/{variant}", member))

    kinds = {finding.kind for finding in worse_than_info(report)}
    assert {"bad_length", "queue_beyond_end"} <= kinds
    assert not report.ok


def test_lost_queue_entries_are_found(golden: Golden) -> None:
    report = check(golden.family("crash/cqlost", "crashed"))

    behind = [finding for finding in report.findings if finding.kind == "queue_behind"]
    lost = entry_count(golden, "cq-recovered") - entry_count(golden, "cq")
    assert sum(finding.count for finding in behind) == lost
    assert not report.ok


def entry_count(golden: Golden, which: str) -> int:
    return sum(len(line["entries"]) for line in golden.jsonl("crash/cqlost", which))


def test_store_of_a_broker_that_was_killed_under_load_is_ok(golden: Golden) -> None:
    report = check(golden.family("crash/mmap", "crashed"))

    assert report.ok
    assert {finding.kind for finding in report.findings} == {"abort", "queue_behind"}


def test_directory_is_left_as_it_is(kinds: Path) -> None:
    before = state_of(kinds)

    check(kinds)

    assert state_of(kinds) == before


@pytest.mark.parametrize("has_directory", [False, True])
def test_a_queue_without_files_is_a_missing_queue(basic: Path, has_directory: bool) -> None:
    queue = basic / "consumequeue" / "tiny" / "3"
    shutil.rmtree(queue)
    if has_directory:
        # As a broker leaves it that is killed between making the directory and its first file.
        queue.mkdir()

    (found,) = worse_than_info(check(basic))

    assert found.kind == "queue_missing"
    assert found.file == "consumequeue/tiny/3"
    assert found.count == 5


def test_queues_of_a_deleted_topic_are_only_told(basic: Path) -> None:
    shutil.rmtree(basic / "consumequeue" / "tiny")
    topics = basic / "config" / "topics.json"
    topics.write_text(topics.read_text().replace('"tiny"', '"tiny-gone"'))

    report = check(basic)

    assert report.ok
    assert {"topic_deleted"} < {finding.kind for finding in report.findings}


def test_newest_index_file_is_open_while_a_broker_runs(basic: Path) -> None:
    newest = max((basic / "index").iterdir())
    overwrite(newest, 40, bytes(2000))
    assert not check(basic).ok

    (basic / "abort").touch()

    report = check(basic)
    assert report.ok
    assert {"index_slot", "abort"} <= {finding.kind for finding in report.findings}


def test_store_that_has_just_been_started_is_ok(golden: Golden, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "lock").write_text("lock")
    (tmp_path / "abort").touch()

    report = check(tmp_path)

    assert report.ok
    assert report.records == 0


@pytest.mark.parametrize("aborted", [True, False])
def test_half_a_record_that_no_queue_knows_is_only_told(ipv6: Path, aborted: bool) -> None:
    file = ipv6 / "commitlog" / ("0" * 20)
    with StoreDir.open(ipv6) as store:
        end = store.log.end
    overwrite(file, end, file.read_bytes()[:100])
    if aborted:
        (ipv6 / "abort").touch()

    report = check(ipv6)

    (found,) = [finding for finding in report.findings if finding.kind != "abort"]
    assert report.ok
    assert found.kind == "torn_tail"
    assert found.pos == end


def test_record_that_differs_from_both_neighbours_is_told(basic: Path) -> None:
    with StoreDir.open(basic) as store:
        record = store.record_at(297161)
    file = basic / "commitlog" / f"{262144:020d}"
    pos = 297161 - 262144
    overwrite(file, pos + 56, (record.store_ms + 86_400_000).to_bytes(8, "big"))
    flip(file, pos + 64)

    found = {finding.field: finding.pos for finding in worse_than_info(check(basic))}

    # The index, too, says another time than the record.
    assert found.pop("time_diff_s", 0) > 0
    assert found == {"store_ms": pos + 56, "store_host": pos + 64}


def test_lost_ext_file_is_told_by_its_entries(kinds: Path) -> None:
    shutil.rmtree(kinds / "consumequeue_ext" / "kd-retry" / "0")

    found = worse_than_info(check(kinds))

    assert {(one.kind, one.field) for one in found} == {("queue_entry_wrong", "tags_code")}
    assert {one.file for one in found} == {"consumequeue/kd-retry/0/" + "0" * 20}


def test_topic_made_again_leaves_records_that_are_only_told(basic: Path) -> None:
    # Records of the first life of a topic: their entries belong to newer records now.
    queue = basic / "consumequeue" / "tiny" / "0" / ("0" * 20)
    log = basic / "commitlog" / f"{786432:020d}"
    with StoreDir.open(basic) as store:
        entries = [entry for _, entry in store.queue("tiny", 0).entries()]
    for number, entry in enumerate(entries[2:]):
        overwrite(log, entry.log_offset - 786432 + 20, number.to_bytes(8, "big"))
    queue.write_bytes(queue.read_bytes()[40:100].ljust(6000, b"\0"))

    report = check(basic)

    told = [finding for finding in report.findings if finding.kind == "superseded"]
    assert report.ok
    assert sum(finding.count for finding in told) == 2


def test_files_of_garbage_are_told_in_a_report_that_can_be_read(basic: Path) -> None:
    file = basic / "index" / "20261121041855172"
    file.write_bytes(file.read_bytes()[:40] + bytes([7]) * (22040 - 40))

    report = check(basic)

    ours = [finding for finding in report.findings if finding.file == f"index/{file.name}"]
    assert not report.ok
    assert len(ours) < 600
