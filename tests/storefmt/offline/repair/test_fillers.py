"""Entries that a recovery turned into fillers, though the log has their records.

    entries   e0 e1 e2 … e9   ──recovery──>   filler filler … filler e9      log: unchanged

Rule: ``verify`` names such a queue, and the log alone brings the entries back.
"""

import shutil
from pathlib import Path

import pytest

from storefmt.formats.consumequeue import ENTRY_SIZE, FILLER
from storefmt.offline import Severity, StoreDir
from storefmt.offline.views import matching
from tests.golden import Golden
from tests.storefmt.broken import overwrite
from tests.storefmt.offline.repair.test_rebuild import PARTS, assert_same_files
from tests.storefmt.offline.stores import rebuilt, repaired, report_of
from tests.storefmt.offline.tiny import tiny_store


def fill(root: Path, *, kept: int) -> dict[str, int]:
    """Turn all entries but the last ``kept`` of each queue into fillers; count them by queue."""
    counts: dict[str, int] = {}
    for queue in sorted((root / "consumequeue").glob("*/*")):
        with StoreDir.open(root) as store:
            view = store.queue(queue.parent.name, int(queue.name))
            files, end = view.files, view.max_offset - kept
        for span in files:
            count = min(end, span.end // ENTRY_SIZE) - span.start // ENTRY_SIZE
            if count > 0:
                overwrite(span.path, 0, FILLER * count)
                name = f"{queue.parent.name} {queue.name}"
                counts[name] = counts.get(name, 0) + count
    return counts


@pytest.fixture(params=["tiny", "basic", "ipv6"])
def whole(request: pytest.FixtureRequest, golden: Golden, tmp_path: Path) -> Path:
    return tiny_store(tmp_path) if request.param == "tiny" else golden.store(request.param)


@pytest.mark.parametrize("kept", [1, 0])
def test_entries_that_became_fillers_are_named_by_verify(whole: Path, kept: int) -> None:
    counts = fill(whole, kept=kept)

    report = report_of(whole, deep=True)

    found = [finding for finding in report.findings if finding.kind == "queue_filler"]
    queues = {" ".join(finding.file.split("/")[1:3]): finding for finding in found}
    assert {name: finding.count for name, finding in queues.items()} == counts
    assert {finding.severity for finding in found} == {Severity.ERROR}
    for name, finding in queues.items():
        assert finding.found == f"{counts[name]} of {counts[name] + kept} entries are fillers"
        assert "store rebuild" in finding.hint
    assert not report.ok
    assert not [one for one in report.findings if one.kind in ("queue_hole", "queue_entry_wrong")]


def test_a_filler_between_entries_is_named_alone(tmp_path: Path) -> None:
    root = tiny_store(tmp_path)
    queue = root / "consumequeue" / "orders" / "0" / f"{0:020d}"
    overwrite(queue, 2 * ENTRY_SIZE, FILLER)

    report = report_of(root, deep=True)

    (found,) = [one for one in report.findings if one.severity is not Severity.INFO]
    assert found.kind == "queue_filler"
    assert found.pos == 2 * ENTRY_SIZE
    assert found.count == 1
    assert found.found == "1 of 7 entries are fillers"


def test_more_fillers_than_are_kept_one_by_one_are_still_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "EXPECTED_MAX", 3)
    root = tiny_store(tmp_path)
    counts = fill(root, kept=0)

    report = report_of(root, deep=True)

    found = [one for one in report.findings if one.severity is not Severity.INFO]
    assert {one.kind for one in found} == {"queue_filler"}
    assert sum(one.count for one in found) == sum(counts.values())


def test_fillers_in_front_of_a_queue_that_started_late_are_no_finding(golden: Golden) -> None:
    path = golden.store("retention")
    with StoreDir.open(path) as store:
        view = store.queue("rt-t1", 0)
        first, entries = view.min_offset, list(view.entries())
        span = view.files[0]
    gone = sum(queue_offset < first for queue_offset, _ in entries)
    overwrite(span.path, 0, FILLER * gone)

    report = report_of(path, deep=True)

    assert gone
    assert report.ok


@pytest.mark.parametrize("kept", [1, 0])
def test_rebuild_gives_overwritten_entries_back_byte_for_byte(
    whole: Path, kept: int, tmp_path: Path
) -> None:
    real = shutil.copytree(whole, tmp_path / "real")
    fill(whole, kept=kept)

    rebuilt(whole, tmp_path / "out")

    for part in PARTS:
        assert_same_files(tmp_path / "out", real, part)


@pytest.mark.parametrize("kept", [1, 0])
def test_repair_gives_overwritten_entries_back_byte_for_byte(
    whole: Path, kept: int, tmp_path: Path
) -> None:
    real = shutil.copytree(whole, tmp_path / "real")
    fill(whole, kept=kept)

    done = repaired(whole, tmp_path / "out")

    for part in ("commitlog", *PARTS):
        assert_same_files(tmp_path / "out", real, part)
    assert done.lost_count == 0
    assert report_of(tmp_path / "out", deep=True).ok
