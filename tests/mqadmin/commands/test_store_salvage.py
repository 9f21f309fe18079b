"""The commands for broken stores: rows, exit codes, and a source that is only read."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.golden import Golden
from tests.mqadmin.commands.offline import run
from tests.mqadmin.conftest import cells
from tests.programs import ran
from tests.storefmt.offline.stores import state_of


def test_rebuild_tells_each_queue_and_the_index(basic: Path, tmp_path: Path) -> None:
    ran = run("store", "rebuild", basic, "--to", tmp_path / "out")

    assert ran.exit_code == 0
    assert ran.err == ""
    by_kind = [row["kind"] for row in ran.rows]
    assert by_kind == ["queue"] * 18 + ["index"]
    clicks = next(row for row in ran.rows if row["topic"] == "clicks_v1")
    assert (clicks["min_offset"], clicks["max_offset"], clicks["files"]) == (0, 750, 3)
    assert ran.rows[-1]["files"] == 3
    assert len(list((tmp_path / "out" / "index").iterdir())) == 3


def test_rebuild_of_a_damaged_log_exits_6(golden: Golden, tmp_path: Path) -> None:
    ran = run("store", "rebuild", golden.damaged("07-zero-page-early"), "--to", tmp_path / "out")

    assert ran.exit_code == 6
    assert "4195 bytes of the log are not records" in ran.err


def test_repair_says_what_is_lost(golden: Golden, tmp_path: Path) -> None:
    path = golden.damaged("01-bitflip-body-early")

    ran = run("store", "repair", path, "--to", tmp_path / "out")

    assert ran.exit_code == 0
    lost = [row for row in ran.rows if row["action"] == "lost"]
    assert cells(lost, "topic", "queue_id", "queue_offset", "reason") == [
        ("ord-events", 2, 64, "bad_crc")
    ]
    assert "1 messages lost, 361 bytes of the log replaced or cut" in ran.err
    assert run("store", "verify", tmp_path / "out", "--deep").exit_code == 0


def test_repair_of_a_healthy_store_has_no_rows(golden: Golden, tmp_path: Path) -> None:
    path = golden.store("retention")

    ran = run("store", "repair", path, "--to", tmp_path / "out")

    assert ran.rows == []
    assert run("store", "diff", path, tmp_path / "out").exit_code == 0


@pytest.mark.parametrize("verb", ["rebuild", "repair", "carve"])
def test_nothing_is_written_where_it_must_not(verb: str, ipv6: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    before = state_of(ipv6), state_of(tmp_path)

    for out in (ipv6, ipv6 / "out", ipv6 / "index", tmp_path / "full"):
        ran = run("store", verb, ipv6, "--to", out)
        assert ran.exit_code == 2, ran.err
    assert run("store", verb, ipv6, "--to", tmp_path / "out", "--dry-run").exit_code == 2

    assert (state_of(ipv6), state_of(tmp_path)) == before


def test_carve_lists_and_writes(ipv6: Path, tmp_path: Path) -> None:
    file = ipv6 / "commitlog" / f"{0:020d}"

    ran = run("store", "carve", file, "--to", tmp_path / "out", "--log-file-size", "262144")

    assert ran.exit_code == 0
    assert len(ran.rows) == 116
    assert all(row["in_place"] and row["written"] for row in ran.rows)
    assert {"topic", "body_size", "pos", "log_offset"} <= set(ran.rows[0])
    assert "116 records in 1 files" in ran.err
    copy = tmp_path / "out" / "commitlog" / file.name
    assert copy.stat().st_size == 262144


def test_carve_of_nothing_exits_3(tmp_path: Path) -> None:
    (tmp_path / "noise").write_bytes(bytes(range(256)) * 40)

    assert run("store", "carve", tmp_path / "noise").exit_code == 3
    assert run("store", "carve", tmp_path / "nothing").exit_code == 3


def test_diff_exits_1_where_stores_differ(golden: Golden) -> None:
    a, b = golden.store("basic"), golden.damaged("01-bitflip-body-early")

    same, other = run("store", "diff", a, a), run("store", "diff", a, b)

    assert (same.exit_code, other.exit_code) == (0, 1)
    assert [row["kind"] for row in same.rows] == ["log"]
    assert other.rows[0]["first"] == 297314
    assert other.rows[1]["topic"] == "ord-events"
    assert run("store", "diff", a, a.parent / "nothing").exit_code == 3


def test_sealed_stores_are_verified_bit_by_bit(ipv6: Path, tmp_path: Path) -> None:
    sealed = run("store", "seal", ipv6)
    away = run("store", "seal", ipv6, "--to", tmp_path / "sums")

    assert [row["result"] for row in sealed.rows] == ["sealed"]
    assert [row["segments"] for row in away.rows] == [116]
    assert run("store", "verify", ipv6).exit_code == 0
    file = ipv6 / "commitlog" / f"{0:020d}"
    data = bytearray(file.read_bytes())
    # The born time of the first record: no CRC of RocketMQ covers it.
    data[47] ^= 4
    file.write_bytes(data)
    for options in ((), ("--checksums", tmp_path / "sums")):
        ran = run("store", "verify", ipv6, *options)
        assert ran.exit_code == 6
        found = [f for f in ran.rows[0]["findings"] if f["kind"] == "flipped_bit"]
        assert cells(found, "offset", "field") == [(47, "born_ms")]
        shutil.rmtree(ipv6 / "checksums", ignore_errors=True)
    assert run("store", "seal", ipv6, "--to", tmp_path / "sums").exit_code == 6
    assert run("store", "verify", ipv6, "--checksums", tmp_path / "nothing").exit_code == 3


WRITES = re.compile(
    r"\b(?:openat|open|creat|rename\w*|unlink\w*|mkdir\w*|rmdir|link\w*|symlink\w*|truncate"
    r"|chmod|fchmodat|chown|lchown|fchownat|utime\w*|mknod\w*|setxattr)\("
)


@pytest.mark.parametrize("verb", ["verify", "log", "rebuild", "repair", "carve", "diff"])
def test_the_store_is_only_read(verb: str, golden: Golden, tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed: system calls cannot be watched")
    probe = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("strace is not allowed here (ptrace): system calls cannot be watched")
    path, trace = golden.store("ipv6"), tmp_path / "trace"
    more = {
        "rebuild": ["--to", str(tmp_path / "out")],
        "repair": ["--to", str(tmp_path / "out")],
        "diff": [str(path)],
    }.get(verb, [])
    before = state_of(path)

    ran(
        *("strace", "-f", "-qq", "-e", "trace=file,ftruncate,fallocate", "-s", "300"),
        *("-o", str(trace), sys.executable, "-m", "mqadmin", "store", verb, str(path), *more),
        env={**os.environ, "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
    )

    calls = [line for line in trace.read_text().splitlines() if f'"{path}' in line]
    opened = [line for line in calls if "commitlog/0" in line and "openat(" in line]
    assert opened, "the trace must show the store being read"
    for line in calls:
        if WRITES.search(line):
            assert "O_RDONLY" in line, line
            assert "O_CREAT" not in line, line
    assert state_of(path) == before
