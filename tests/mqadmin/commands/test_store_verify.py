"""``store verify``: the report and its exit code."""

import pytest

from storefmt.config.tables import TopicTable, load_config
from storefmt.errors import ConfigDamaged
from tests.golden import Golden
from tests.mqadmin.commands.offline import run
from tests.mqadmin.conftest import cells


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


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "the file is empty"),
        (b"\0" * 500, "500 bytes, all of them zeros or blanks"),
        (b" \n\0", "3 bytes, all of them zeros or blanks"),
    ],
)
@pytest.mark.parametrize("has_backup", [False, True])
def test_state_file_without_content_is_told_as_a_broker_meets_it(
    golden: Golden, data: bytes, text: str, *, has_backup: bool
) -> None:
    store = golden.store("basic")
    topics = store / "config/topics.json"
    good = topics.read_bytes()
    topics.write_bytes(data)
    topics.with_name("topics.json.bak").write_bytes(good if has_backup else data)

    ran = run("store", "verify", store)

    found = [one for one in ran.rows[0]["findings"] if one["file"].startswith("config/topics")]
    assert found[0]["found"] == text
    if has_backup:
        assert cells(found, "kind", "severity") == [("config_fallback", "warning")]
        assert found[0]["hint"].startswith("a broker uses config/topics.json.bak")
        assert load_config(topics, TopicTable.decode, passed_over=[]) is not None
    else:
        assert cells(found, "kind", "severity")[:2] == [("config_damaged", "error")] * 2
        assert found[1]["found"] == text
        assert found[0]["hint"].startswith("a broker does not start until the file is restored")
        with pytest.raises(ConfigDamaged):
            load_config(topics, TopicTable.decode, passed_over=[])


def test_abort_file_is_worth_knowing_and_exit_0(golden: Golden) -> None:
    ran = run("store", "verify", golden.damaged("32-abort-only"))

    assert ran.exit_code == 0
    assert "abort" in {one["kind"] for one in ran.rows[0]["findings"]}
