"""``store verify``: the report and its exit code."""

import pytest

from tests.golden import Golden
from tests.mqadmin.commands.offline import run


@pytest.mark.parametrize("name", ["basic", "kinds", "retention"])
def test_sound_store_is_exit_0(golden: Golden, name: str) -> None:
    ran = run("store", "verify", golden.store(name), "--deep")

    (row,) = ran.rows
    assert ran.exit_code == 0
    assert row["ok"] is True
    assert set(row) == {"ok", "files", "records", "bytes", "seconds", "findings"}


@pytest.mark.parametrize(
    ("case", "kind", "file", "offset"),
    [
        ("01-bitflip-body-early", "bad_crc", "commitlog/00000000000000262144", 35017),
        ("10-cq-wrong-size", "queue_entry_wrong", "consumequeue/ord-events/3/" + "0" * 20, 328),
        ("16-index-loop", "index_chain", "index/20261121041858640", 9716),
        ("25-json-both-bad", "config_damaged", "config/consumerOffset.json", 0),
    ],
)
def test_damage_is_exit_6_with_file_and_offset(
    golden: Golden, case: str, kind: str, file: str, offset: int
) -> None:
    ran = run("store", "verify", golden.damaged(case))

    (row,) = ran.rows
    found = [one for one in row["findings"] if one["kind"] == kind]
    assert ran.exit_code == 6
    assert row["ok"] is False
    assert (found[0]["file"], found[0]["offset"]) == (file, offset)
    assert found[0]["severity"] == "error"
    assert set(found[0]) >= {
        "kind", "severity", "file", "offset", "field", "found", "expected", "hint",
    }  # fmt: skip


def test_abort_file_is_worth_knowing_and_exit_0(golden: Golden) -> None:
    ran = run("store", "verify", golden.damaged("32-abort-only"))

    assert ran.exit_code == 0
    assert "abort" in {one["kind"] for one in ran.rows[0]["findings"]}
