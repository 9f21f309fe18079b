"""Message verbs against running servers: print, time, resend, trace, ids, files, bench."""

import json
from pathlib import Path

from mqadmin.commands.message.bench import percentile
from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.conftest import Result, Row, Run, rows


def fill(at: Run, topic: str, count: int = 4) -> list[Row]:
    """Send so many messages to the queues by turns, with tags A and B and keys k0 k1 …"""
    return [
        at.row(
            *("message", "send", topic, f"m{i}", "-k", f"k{i}", "-t", "AB"[i % 2]),
            *("-p", f"region={'eu' if i < 2 else 'us'}", "--queue", str(i % 2)),
        )
        for i in range(count)
    ]


def bodies(done: Result) -> list[object]:
    return [row["body"] for row in rows(done)]


def test_a_topic_is_printed_queue_by_queue_and_filtered(at: Run, topic: str) -> None:
    fill(at, topic)

    assert bodies(at("message", "print", topic, "-ojson")) == ["m0", "m2", "m1", "m3"]
    assert bodies(at("message", "print", topic, "1", "--start", "1", "-ojson")) == ["m3"]
    assert bodies(at("message", "print", topic, "--tag", "B", "-ojson")) == ["m1", "m3"]
    assert bodies(at("message", "print", topic, "--key", "k2", "-ojson")) == ["m2"]
    assert bodies(at("message", "print", topic, "-p", "region=eu", "-ojson")) == ["m0", "m1"]
    assert bodies(at("message", "print", topic, "-c", "3", "-ojson")) == ["m0", "m2", "m1"]
    assert bodies(at("message", "print", topic, "--to", "-1h", "-ojson")) == []
    assert "body" not in at.rows("message", "print", topic, "--no-body")[0]
    assert at("message", "print", topic, "-c", "-1").exit_code == 2
    assert at("message", "print", topic, "7").exit_code == 3


def test_the_java_names_of_printing_print_the_same(at: Run, topic: str) -> None:
    fill(at, topic)
    json_ = ("--output", "json")

    assert bodies(at("printMsg", "-t", topic, *json_)) == ["m0", "m2", "m1", "m3"]
    assert bodies(at("printMsg", "-t", topic, "--subExpression", "A", *json_)) == ["m0", "m2"]
    hidden = at.rows("printMsg", "-t", topic, "-d", "false")
    by_queue = at(
        *("printMsgByQueue", "-t", topic, "-a", "broker-a", "-i", "1"),
        *("-p", "true", "-f", "true", *json_),
    )
    taken = at("consumeMessage", "-t", topic, "-b", "broker-a", "-i", "0", "-o", "1", *json_)

    assert "body" not in hidden[0]
    assert bodies(by_queue) == ["m1", "m3"]
    assert "tag B: 2" in by_queue.err
    assert bodies(taken) == ["m2"]


def test_messages_of_a_span_of_time(at: Run, topic: str) -> None:
    sent = fill(at, topic)
    shown = at.row("message", "query", "id", sent[1]["msg_id"])
    at_ms = str(shown["store_ms"])

    found = bodies(at("message", "query", "time", topic, "--from", at_ms, "-ojson"))
    before = at.rows("message", "query", "time", topic, "--from", "0", "--to", "1000")

    assert {"m1", "m2", "m3"} <= set(found)
    assert before == []
    assert at("message", "query", "time", topic).exit_code == 2
    assert at("message", "query", "time", topic, "--from", "now", "--to", "-1h").exit_code == 2
    assert at("message", "query", "time", "no-such-topic", "--from", "-1h").exit_code == 3


def test_a_message_is_sent_once_more_with_what_the_user_gave(at: Run, topic: str) -> None:
    first = fill(at, topic, 1)[0]

    planned = at.row("message", "resend", first["msg_id"], "--dry-run")
    again = at.row("message", "resend", first["msg_id"], "-y")

    assert planned["status"] == "would change"
    assert (again["status"], again["msg_id"]) == ("SEND_OK", first["msg_id"])
    shown = at.row("message", "query", "id", again["new_msg_id"])
    assert (shown["body"], shown["tags"], shown["keys"]) == ("m0", "A", ["k0"])
    assert shown["properties"]["region"] == "eu"
    assert shown["unique_key"] != first["unique_key"]
    assert at("message", "resend", first["msg_id"]).exit_code == 2
    assert at("message", "resend", first["unique_key"], "-y").exit_code == 2
    assert at("message", "resend", "nothing", "-y").exit_code == 2
    both = f"{first['msg_id']},{again['new_msg_id']}"
    java = at.rows("queryMsgById", "-i", both, "-s", "true", "-y")
    assert [row["msg_id"] for row in java] == both.split(",")
    seen = at.rows("queryMsgById", "-i", both, "-s", "false")
    assert [row["msg_id"] for row in seen] == both.split(",")


def test_nobody_online_takes_no_message(at: Run, topic: str) -> None:
    sent = fill(at, topic, 1)[0]

    nobody = at("message", "consume-direct", sent["msg_id"], "NoGroup", "-y")
    stranger = at("message", "consume-direct", sent["msg_id"], "NoGroup", "--client", "x@1", "-y")

    assert (nobody.exit_code, "group NoGroup has no members online" in nobody.err) == (3, True)
    assert stranger.exit_code == 1


def test_a_message_is_got_by_whatever_is_known_of_it(at: Run, topic: str) -> None:
    sent = fill(at, topic, 3)
    third = sent[2]
    place = f"broker-a:{third['queue_id']}:{third['queue_offset']}"

    for what, where in (
        (third["msg_id"], ()),
        (third["unique_key"], ("--topic", topic)),
        ("k2", ("--topic", topic)),
        (place, ("--topic", topic)),
        (place.partition(":")[2], ("--topic", topic)),
    ):
        row = at.row("message", "get", str(what), *where)
        assert row["msg_id"] == third["msg_id"], what
    assert at("message", "get", "k2").exit_code == 2
    assert at("message", "get", "none", "--topic", topic).exit_code == 3
    assert at("message", "get", "0:99", "--topic", topic).exit_code == 3


def test_messages_are_found_by_what_is_in_their_body(at: Run, topic: str) -> None:
    fill(at, topic, 4)

    found = at.rows("message", "print", topic, "--grep", "^m[13]$")
    scanned = at.rows("message", "print", topic, "--grep", "m", "--scan", "1")
    followed = at("message", "tail", topic, "--from", "earliest", "--no-follow", "--grep", "m2")

    assert sorted(row["body"] for row in found) == ["m1", "m3"]
    assert len(scanned) == 2
    assert "m2" in followed.out
    assert "m1" not in followed.out
    assert at("message", "print", topic, "--grep", "(").exit_code == 2
    assert at("message", "print", topic, "--scan", "0").exit_code == 2


def followed(at: Run, topic: str, *words: str) -> list[object]:
    """Return the bodies that a tail from the first message to the last one shows."""
    done = at("message", "tail", topic, "--from", "earliest", "--no-follow", *words, "-ojsonl")
    assert done.exit_code == 0, done.err
    return sorted(json.loads(line)["body"] for line in done.out.splitlines())


def test_messages_are_chosen_by_fields_of_json_and_properties(at: Run, topic: str) -> None:
    for number, body in enumerate(['{"id": 1}', '{"id": 2}', '{"id": "1"}', "id=1"]):
        region = "eu" if number < 2 else "us"
        at("message", "send", topic, body, "-p", f"region={region}", "--queue", "0")

    for show in (lambda *words: bodies(at("message", "print", topic, *words, "-ojson")),
                 lambda *words: followed(at, topic, *words)):  # fmt: skip
        assert show("--json", "id=1") == ['{"id": 1}']
        assert show("--json", "id", "-p", "region=us") == ['{"id": "1"}']
        assert show("-p", "region=eu") == ['{"id": 1}', '{"id": 2}']
    assert at("message", "tail", topic, "--json", "a..b").exit_code == 2


def test_what_is_shown_and_looked_at_has_limits(at: Run, topic: str) -> None:
    fill(at, topic, 4)
    first = ("--queue", "0")

    assert bodies(at("message", "print", topic, "--bytes", "5", "-ojson")) == ["m0", "m2"]
    assert followed(at, topic, *first, "--bytes", "3") == ["m0"]
    assert followed(at, topic, *first, "--scan", "1") == ["m0"]
    assert followed(at, topic, "--scan", "3", "--grep", "none") == []
    for option in ("--bytes", "--scan"):
        assert at("message", "tail", topic, option, "-1").exit_code == 2
    assert at("message", "print", topic, "--bytes", "-1").exit_code == 2


def test_a_message_leaves_a_trace_where_one_is_asked_for(at: Run, topic: str) -> None:
    sent = at.row("sendMessage", "-t", topic, "-p", "x", "-m", "true")

    words = ("queryMsgTraceById", "-i", sent["unique_key"], "--output", "json")
    # The broker indexes a message some moments after it has answered.
    tries = (at(*words) for _ in range(500))
    (step,) = rows(next(done for done in tries if done.exit_code == 0))

    assert (step["step"], step["success"], step["topic"]) == ("sent", True, topic)


def test_a_trace_joins_store_and_groups(at: Run, topic: str) -> None:
    sent = fill(at, topic, 3)
    at("offset", "reset", "TraceG", topic, "--to", "1", "-y")

    by_key = at.rows("message", "trace", "k2", "--topic", topic)
    by_id = at.rows("message", "trace", sent[2]["msg_id"])

    assert [row["step"] for row in by_key] == ["store", "group"]
    assert (by_key[1]["group"], by_key[1]["group_offset"]) == ("TraceG", 1)
    assert by_key[1]["detail"].startswith("reads it next")
    assert by_id == by_key
    assert at("message", "trace", "nope", "--topic", topic).exit_code == 3
    assert at("queryMsgTraceById", "-i", "nope").exit_code == 3
    assert at("message", "trace", "k", "--topic", "no-such-topic").exit_code == 3


def test_an_id_is_decoded_without_servers(run: Run) -> None:
    offset_id, unique_id = "7F00000100002A9F00000000000004D2", "AC1100020B6B18B4AAC2064ED6A30000"

    one, other = run.rows("message", "decode-id", offset_id, unique_id)

    assert (one["kind"], one["host"], one["log_offset"]) == ("offset", "127.0.0.1:10911", 1234)
    assert (other["kind"], other["host"], other["pid"]) == ("unique", "172.17.0.2", 0x0B6B)
    assert other["counter"] == 0
    assert run("message", "decode-id", "xyz").exit_code == 2
    assert run("message", "decode-id").exit_code == 2


def test_a_topic_goes_into_a_file_and_out_of_it(at: Run, topic: str, tmp_path: Path) -> None:
    fill(at, topic)
    file = tmp_path / "all.jsonl"
    target = f"{topic[:80]}-copy"
    at("topic", "create", target, "-q", "1")

    written = at.row("message", "export", topic, "--to", str(file))
    sent = at.row("message", "import", str(file), "--to", target, "-y")

    assert (written["rows"], written["resumed"]) == (4, False)
    assert (sent["sent"], sent["skipped"], sent["topics"]) == (4, 0, [target])
    assert sorted(map(str, bodies(at("message", "print", target, "-ojson")))) == [
        *("m0", "m1", "m2", "m3"),
    ]
    assert at("message", "export", topic, "--to", str(file)).exit_code == 2
    assert at("message", "import", str(tmp_path / "none.jsonl"), "-y").exit_code == 3
    assert at("message", "import", str(file)).exit_code == 2


def test_a_broken_export_goes_on_where_it_was(at: Run, topic: str, tmp_path: Path) -> None:
    fill(at, topic)
    whole, file = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    at("message", "export", topic, "--to", str(whole))
    lines = whole.read_text().splitlines(keepends=True)
    asked = {
        **dict.fromkeys(("format", "queue", "from", "until"), "None"),
        "topic": topic,
        "tag": "*",
        "no_body": "False",
    }
    state = {"asked": asked, "end_ms": 1 << 42, "queue": "broker-a:0", "next_queue_offset": 1}
    # What it says is on the disk is one row; the rest came after the last state.
    file.write_text(lines[0] + "half a li")
    held = file.with_name(file.name + ".state")
    held.write_text(json.dumps({**state, "rows": 1, "size": len(lines[0].encode())}))

    done = at.row("message", "export", topic, "--to", str(file), "--resume")

    assert (done["rows"], done["resumed"]) == (4, True)
    assert file.read_text() == whole.read_text()
    assert not held.exists()


def test_a_broken_import_goes_on_where_it_was(at: Run, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text("".join(f'{{"topic": "{topic}", "body": "x{i}"}}\n' for i in range(3)))
    file.with_name("in.jsonl.sent").write_text("2\n")

    unasked = at("message", "import", str(file), "-y")
    done = at.row("message", "import", str(file), "--resume", "-y")

    assert unasked.exit_code == 2
    assert (done["sent"], done["skipped"]) == (1, 2)
    assert bodies(at("message", "print", topic, "-ojson")) == ["x2"]
    file.write_text('{"topic": 1}\n')
    assert at("message", "import", str(file), "-y").exit_code == 2


def test_a_bench_tells_rate_and_times(at: Run, topic: str) -> None:
    every = at.row("message", "bench", topic, "-c", "20", "-s", "16", "-y")
    each = at.rows("checkMsgSendRT", "-t", topic, "-a", "3", "-s", "8", "-y")
    planned = at.row("message", "bench", topic, "--dry-run")

    assert (every["sent"], every["failed"], every["size"]) == (20, 0, 16)
    assert every["p50_ms"] <= every["p99_ms"] <= every["max_ms"]
    assert [row["status"] for row in each] == ["SEND_OK"] * 3
    assert planned["sent"] == 1000
    assert at("message", "bench", topic, "-c", "0", "-y").exit_code == 2
    assert at("message", "bench", topic, "-c", "1").exit_code == 2


def test_percentiles_are_times_that_were_measured() -> None:
    took = [float(number) for number in range(1, 101)]

    assert (percentile(took, 50), percentile(took, 99), percentile(took[:1], 99)) == (50, 99, 1)
    assert percentile([], 50) is None


def test_entries_of_a_queue(at: Run, topic: str, servers: ServerAddresses) -> None:
    fill(at, topic)

    own = at.rows("queue", "show", topic, "1", "--start", "1")
    java = at.rows("queryCq", "-t", topic, "-q", "1", "-i", "0", "-b", servers.broker)

    assert [row["queue_offset"] for row in own] == [1]
    assert [row["queue_offset"] for row in java] == [0, 1]
    assert java[1] == own[0]
    assert (own[0]["min_offset"], own[0]["max_offset"], own[0]["taken"]) == (0, 2, None)
    assert at("queue", "show", topic, "1", "--start", "9").exit_code == 3
    assert at("queue", "show", topic, "9").exit_code == 3
    assert at("queue", "show", topic, "0", "-c", "0").exit_code == 2
