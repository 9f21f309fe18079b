"""``store epoch``: a broken epoch.json is shown and repaired."""

import json
import subprocess
import sys
from pathlib import Path

from mqserver.broker.ha.epoch import EpochFile
from tests.mqadmin.commands.offline import run

BROKEN = '{"epoch": 5, "heard": 9223372036854775808, "masterRole": "SYNC_MASTER"}'


def test_store_without_a_promotion_has_epoch_0(tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()

    result = run("store", "epoch", tmp_path)

    assert (result.exit_code, result.rows[0]["epoch_ms"]) == (0, 0)
    assert not (tmp_path / "epoch.json").exists()


def test_broken_file_is_shown_and_stays(tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()
    (tmp_path / "epoch.json").write_text(BROKEN)

    shown = run("store", "epoch", tmp_path)
    planned = run("store", "epoch", tmp_path, "--mend", "--dry-run")

    assert (shown.exit_code, planned.exit_code) == (6, 6)
    assert "heard is 9223372036854775808, expected 0 to" in shown.rows[0]["problem"]
    assert (tmp_path / "epoch.json").read_text() == BROKEN


def test_mended_file_is_one_that_a_broker_starts_with(tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()
    (tmp_path / "epoch.json").write_text(BROKEN)
    (tmp_path / "epoch.json.bak").write_text(BROKEN)

    result = run("store", "epoch", tmp_path, "--mend", "-y")

    assert (result.exit_code, result.rows[0]["problem"]) == (0, "")
    file = EpochFile.read(tmp_path)
    assert (file.epoch, file.heard, file.master_role) == (5, 5, "SYNC_MASTER")
    assert (tmp_path / "epoch.json.damaged").read_text() == BROKEN


def test_epoch_can_be_set(tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()

    run("store", "epoch", tmp_path, "--mend", "--epoch", "1795368000000", "-y")

    assert json.loads((tmp_path / "epoch.json").read_text())["epoch"] == 1795368000000


def test_a_store_that_a_broker_has_is_not_mended(tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()
    (tmp_path / "epoch.json").write_text(BROKEN)
    program = (
        "import fcntl, sys; file = open(sys.argv[1], 'w');"
        "fcntl.lockf(file, fcntl.LOCK_EX, 1, 0); print('locked', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as broker:
        assert broker.stdout is not None
        broker.stdout.readline()

        result = run("store", "epoch", tmp_path, "--mend", "-y")

        broker.communicate()
    assert result.exit_code == 1
    assert "is held by a running broker" in result.err
    assert (tmp_path / "epoch.json").read_text() == BROKEN
