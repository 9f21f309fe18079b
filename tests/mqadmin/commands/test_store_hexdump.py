"""``store hexdump``: every byte once, in order, with the name its layout gives it."""

from pathlib import Path

import pytest

from storefmt.formats.layout import CHECKPOINT, MESSAGE
from storefmt.formats.message import decode_record
from tests.golden import Golden
from tests.mqadmin.commands.offline import run


def bytes_of(rows: list[dict]) -> bytes:
    pos = rows[0]["pos"]
    data = b""
    for row in rows:
        assert row["pos"] == pos + len(data), "a gap, or a byte shown twice"
        data += bytes.fromhex(row["hex"])
    return data


@pytest.mark.parametrize("name", ["basic", "kinds", "ipv6", "v5", "retention"])
def test_records_are_shown_byte_for_byte(golden: Golden, name: str) -> None:
    path = golden.store(name)
    lines = [line for line in golden.jsonl(name, "records") if line["kind"] == "msg"]
    for line in (lines[0], lines[len(lines) // 2], lines[-1]):
        rows = run("store", "hexdump", path, str(line["phy"]), "--whole").rows

        data = bytes_of(rows)
        assert len(data) == line["size"]
        assert (path / rows[0]["file"]).read_bytes()[line["pos"] :][: line["size"]] == data
        assert rows[0]["log_offset"] == line["phy"]
        values = {row["field"]: row["value"] for row in rows if row["value"] is not None}
        record = decode_record(data)
        assert values["topic"] == record.topic
        assert values["queue_offset"] == record.queue_offset
        for key, value in record.properties.items():
            assert values[f"properties {key}"] == value


def test_every_declared_field_is_named(golden: Golden) -> None:
    rows = run("store", "hexdump", golden.store("kinds"), "62176").rows

    named = {row["field"].split()[0] for row in rows}
    assert named == {field.name for field in MESSAGE.fields}


def test_a_byte_inside_a_record_leads_to_the_record(kinds: Path) -> None:
    ran = run("store", "hexdump", kinds, "62200")

    assert ran.rows[0]["log_offset"] == 62176
    assert "queue_offset" in ran.err


def test_long_bodies_are_cut_unless_all_is_wanted(golden: Golden) -> None:
    path = golden.store("basic")
    line = max(golden.jsonl("basic", "records"), key=lambda line: line.get("bodyLen", 0))

    rows = run("store", "hexdump", path, str(line["phy"])).rows

    (cut,) = [row for row in rows if row["hex"] == ""]
    assert cut["field"] == "body"
    assert cut["size"] == line["bodyLen"] - 256


@pytest.mark.parametrize(
    ("file", "pos", "fields"),
    [
        ("consumequeue/kd-delay/1", 21, ["log_offset", "size", "tags_code"]),
        ("consumequeue_ext/kd-delay/1", 21,
         ["size", "tags_code", "store_ms", "bit_map_size"]),
        ("index", 0, ["begin_ms", "end_ms", "begin_log_offset", "end_log_offset", "slot_count",
                      "entry_count"]),
        ("index", 44, ["entry"]),
        ("index", 2100, ["key_hash", "log_offset", "time_diff_s", "previous"]),
        ("checkpoint", 3, [field.name for field in CHECKPOINT.fields]),
    ],
)  # fmt: skip
def test_entries_of_other_files_have_their_names(
    kinds: Path, file: str, pos: int, fields: list[str]
) -> None:
    place = kinds / file
    full = place if place.is_file() else next(item for item in place.iterdir() if item.is_file())
    name = full.relative_to(kinds)

    rows = run("store", "hexdump", kinds, "--file", name, "--pos", str(pos)).rows

    assert list(dict.fromkeys(row["field"] for row in rows)) == fields
    assert full.read_bytes()[rows[0]["pos"] :].startswith(bytes_of(rows))


def test_count_shows_entries_in_a_row(basic: Path) -> None:
    name = "consumequeue/clicks_v1/0/00000000000000000000"

    rows = run("store", "hexdump", basic, "--file", name, "--pos", "100", "-c", "3").rows

    assert len(bytes_of(rows)) == 60
    entries = run("store", "queue", basic, "clicks_v1", "0", "--start", "5", "--limit", "3").rows
    assert [row["value"] for row in rows if row["field"] == "log_offset"] == [
        entry["log_offset"] for entry in entries
    ]


CASES = (
    *("03-size-plus", "05-size-negative", "34-topic-length", "35-props-length"),
    *("39-bodylen-negative", "40-sysflag-v6"),
)


@pytest.mark.parametrize("case", CASES)
def test_damaged_records_are_shown_too(golden: Golden, case: str) -> None:
    path = golden.damaged(case)
    change = next(d for d in golden.damages() if d["case"] == case)["changes"][0]
    findings = run("store", "verify", path).rows[0]["findings"]
    place = next(f for f in findings if f["file"].startswith("commitlog"))

    ran = run("store", "hexdump", path, "--file", place["file"], "--pos", str(place["offset"]))

    assert ran.exit_code == 0, change
    assert bytes_of([row for row in ran.rows if row["hex"]][:3])


@pytest.mark.parametrize(
    ("words", "exit_code"),
    [
        ((), 2),
        (("5", "--file", "checkpoint"), 2),
        (("--file", "../../etc/passwd"), 2),
        (("--file", "checkpoint", "--count", "0"), 2),
        (("--file", "no-such-file"), 3),
        (("--file", "checkpoint", "--pos", "99999"), 3),
        (("999999999999",), 3),
    ],
)
def test_what_cannot_be_shown_is_told(
    golden: Golden, words: tuple[str, ...], exit_code: int
) -> None:
    ran = run("store", "hexdump", golden.store("ipv6"), *words)

    assert (ran.exit_code, ran.out) == (exit_code, "")


def test_a_link_out_of_the_store_is_not_followed(ipv6: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    (ipv6 / "config" / "out").symlink_to(secret)

    assert run("store", "hexdump", ipv6, "--file", "config/out").exit_code == 2
