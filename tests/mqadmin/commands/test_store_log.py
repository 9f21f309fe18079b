"""``store log``, ``store get`` and ``store query``: messages of a store directory."""

import base64
import hashlib
import zlib
from pathlib import Path

import pytest

from tests.golden import Golden
from tests.mqadmin.commands.offline import run

FIELDS = {
    "topic", "queue_id", "queue_offset", "log_offset", "size", "msg_id", "unique_key", "keys",
    "tags", "properties", "flag", "sys_flag", "body_crc", "body_size", "born_ms", "born_host",
    "store_ms", "store_host", "reconsume_times", "prepared_transaction_offset", "magic", "file",
    "broker",
}  # fmt: skip


def lines_of(golden: Golden, name: str) -> list[dict]:
    return [line for line in golden.jsonl(name, "records") if line["kind"] == "msg"]


def body_of(row: dict) -> bytes:
    if "body" in row:
        return row["body"].encode()
    return base64.b64decode(row["body_base64"])


@pytest.mark.parametrize("name", ["basic", "kinds", "retention", "ipv6", "v5"])
def test_rows_equal_the_real_readers_lines(golden: Golden, name: str) -> None:
    rows = run("store", "log", golden.store(name)).rows

    lines = lines_of(golden, name)
    assert len(rows) == len(lines)
    for row, line in zip(rows, lines, strict=True):
        assert set(row) >= FIELDS
        assert (row["topic"], row["queue_id"], row["queue_offset"], row["log_offset"]) == (
            line["topic"], line["queueId"], line["queueOffset"], line["phy"],
        )  # fmt: skip
        assert row["msg_id"] == line["msgId"]
        assert row["properties"] == line["properties"]
        assert row["file"] == f"commitlog/{line['file']}"
        assert (row["born_ms"], row["store_ms"]) == (
            line["bornTimestamp"], line["storeTimestamp"],
        )  # fmt: skip
        assert row["size"] == line["size"]
        assert hashlib.sha256(body_of(row)).hexdigest() == line["bodySha256"]


def test_hosts_are_written_with_brackets_for_v6(golden: Golden) -> None:
    rows = run("store", "log", golden.store("ipv6"), "--no-body").rows

    hosts = {row["store_host"].rpartition(":")[0] for row in rows}
    assert hosts == {"[::1]", "127.0.0.1"}


def test_no_body_leaves_the_body_out(golden: Golden) -> None:
    rows = run("store", "log", golden.store("ipv6"), "--no-body", "--limit", "3").rows

    assert [set(row) & {"body", "body_base64"} for row in rows] == [set()] * 3


def test_inflate_decompresses(golden: Golden) -> None:
    path = golden.store("kinds")
    plain = run("store", "log", path, "--topic", "kd-zip").rows
    inflated = run("store", "log", path, "--topic", "kd-zip", "--inflate").rows

    lines = [line for line in lines_of(golden, "kinds") if line["topic"] == "kd-zip"]
    packed = [
        (a, b, line) for a, b, line in zip(plain, inflated, lines, strict=True) if a["sys_flag"] & 1
    ]
    assert packed
    for stored, opened, line in packed:
        assert zlib.decompress(body_of(stored)) == body_of(opened)
        assert hashlib.sha256(body_of(opened)).hexdigest() == line["inflatedSha256"]


def test_filters_narrow_the_rows(golden: Golden) -> None:
    path = golden.store("basic")
    lines = lines_of(golden, "basic")

    def offsets(*words: str) -> list[int]:
        return [row["log_offset"] for row in run("store", "log", path, "--no-body", *words).rows]

    middle = lines[700]
    at = str(middle["storeTimestamp"])
    key = next(
        line["properties"]["KEYS"].split()[0] for line in lines if "KEYS" in line["properties"]
    )
    assert offsets("--topic", "tiny", "--queue", "3") == [
        line["phy"] for line in lines if (line["topic"], line["queueId"]) == ("tiny", 3)
    ]
    assert offsets("--key", key) == [
        line["phy"] for line in lines if key in line["properties"].get("KEYS", "").split(" ")
    ]
    assert offsets("--key", middle["properties"]["UNIQ_KEY"]) == [middle["phy"]]
    assert offsets("--tag", "even", "--tag", "odd") == [
        line["phy"] for line in lines if line["properties"].get("TAGS") in ("even", "odd")
    ]
    assert offsets("--from", at, "--to", at) == [
        line["phy"] for line in lines if str(line["storeTimestamp"]) == at
    ]
    assert offsets("--log-offset", f"{lines[10]['phy']}-{lines[13]['phy']}") == [
        line["phy"] for line in lines[10:13]
    ]
    assert offsets("--log-offset", str(middle["phy"])) == [middle["phy"]]
    assert offsets("--limit", "5") == [line["phy"] for line in lines[:5]]
    assert offsets("--limit", "0") == offsets("--topic", "no-such-topic") == []


def test_damaged_records_are_passed_over_with_a_warning(golden: Golden) -> None:
    ran = run("store", "log", golden.damaged("01-bitflip-body-early"), "--no-body")

    assert ran.exit_code == 0
    assert len(ran.rows) == 1419
    assert "commitlog/00000000000000262144 at byte 35017" in ran.err
    assert "store verify" in ran.err


def test_record_with_a_wrong_position_is_shown_where_it_lies(golden: Golden) -> None:
    ran = run("store", "get", golden.damaged("36-phyoffset-field"), "156793", "--no-body")

    assert ran.rows[0]["log_offset"] == 156793


@pytest.mark.parametrize("which", ["phy", "msgId", "UNIQ_KEY"])
def test_get_finds_one_message(golden: Golden, which: str) -> None:
    line = lines_of(golden, "ipv6")[40]
    wanted = line.get(which) or line["properties"][which]

    ran = run("store", "get", golden.store("ipv6"), str(wanted))

    assert ran.exit_code == 0
    assert ran.rows[0]["log_offset"] == line["phy"]


def test_query_finds_the_messages_of_a_key(basic: Path) -> None:
    for verb in (("query",), ("query", "key")):
        ran = run("store", *verb, basic, "ord-events", "k124")

        assert ran.exit_code == 0
        assert [row["log_offset"] for row in ran.rows] == [278836]
        assert ran.rows[0]["keys"] == ["k124"]
        online = run("message", "query", "key", "ord-events", "k124", "--store", basic)
        assert online.rows == ran.rows


@pytest.mark.parametrize(
    "words",
    [
        ("get", "DIR", "999999999"),
        ("get", "DIR", "5"),
        ("get", "DIR", "no-such-id"),
        ("query", "DIR", "T", "no-such-key"),
        ("queue", "DIR", "no-such-topic"),
        ("queue", "DIR", "v6-44-t", "77"),
        ("index", "DIR", "no-such-file"),
        ("log", "NONE"),
        ("info", "NONE"),
        ("verify", "NONE"),
    ],
)
def test_what_is_not_there_is_exit_3_and_one_line(
    golden: Golden, tmp_path: Path, words: tuple[str, ...]
) -> None:
    places = {"DIR": str(golden.store("ipv6")), "NONE": str(tmp_path)}

    ran = run("store", *(places.get(word, word) for word in words), output="table")

    assert ran.exit_code == 3
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--log-offset", "a-b"),
        ("--log-offset", "-"),
        ("--limit", "-1"),
        ("--from", "whenever"),
        ("--queue", "x"),
        ("--no-such-option",),
    ],
)
def test_wrong_words_are_exit_2(golden: Golden, words: tuple[str, ...]) -> None:
    assert run("store", "log", golden.store("ipv6"), *words).exit_code == 2


def test_store_command_without_directory_is_exit_2() -> None:
    assert run("store", "info").exit_code == 2


def test_damaged_record_asked_for_is_exit_6(golden: Golden) -> None:
    assert run("store", "get", golden.damaged("01-bitflip-body-early"), "297161").exit_code == 6
