"""Where a group stands, as lag, assert, wait, doctor, top, exporter and tps say it."""

import pytest

from tests.mqadmin.conftest import Run, cells

AHEAD, UNREADABLE = "ahead of the end", "unreadable"


@pytest.fixture
def made_again(at: Run) -> tuple[str, str]:
    """Return a group that is past the end of a topic which was deleted and made again."""
    topic, group = "AGAIN", "AGAIN_GROUP"
    at("group", "create", group)
    at("topic", "create", topic, "-q", "1")
    for number in range(8):
        at("message", "send", topic, f"m{number}")
    at("offset", "reset", group, topic, "--to", "latest", "-y")
    at("topic", "delete", topic, "-y")
    at("topic", "create", topic, "-q", "1")
    for number in range(3):
        at("message", "send", topic, f"n{number}")
    return topic, group


def test_a_group_past_the_end_is_nowhere_well(at: Run, made_again: tuple[str, str]) -> None:
    topic, group = made_again

    (lag,) = at.rows("group", "lag", group, topic)
    held = at("assert", "lag", group, topic, "-ojson")
    waited = at("wait", "lag", group, topic, "--within", "200ms")
    found = at.rows("doctor", "--check", "offset", exit_code=1)
    top = at.rows("top", "--once", "--interval", "0.1")

    assert (lag["lag"], lag["standing"]) == (-5, AHEAD)
    assert (held.exit_code, waited.exit_code) == (1, 4)
    assert "1 queue ahead of the end" in held.rows[0]["found"]
    assert cells(found, "severity", "subject") == [("error", f"group {group}, topic {topic}")]
    assert "3 messages there are unread" in found[0]["found"]
    shown = {row["name"]: row for row in top if row["kind"] == "group"}
    assert AHEAD in shown[group]["error"]
    metrics = {
        (row["metric"], row["labels"].get("group")): row["value"]
        for row in at.rows("exporter", "--once")
    }
    assert metrics["mqadmin_group_wrong_queues", group] == 1


def test_a_topic_is_deleted_with_the_offsets_of_its_groups(at: Run) -> None:
    topic, group = "WITH_OFFSETS", "WITH_OFFSETS_GROUP"
    at("topic", "create", topic, "-q", "1")
    at("message", "send", topic, "m")
    at("offset", "reset", group, topic, "--to", "latest", "-y")

    planned = at("topic", "delete", topic, "--dry-run")
    kept = at("topic", "delete", topic, "-y")
    done = at("topic", "delete", topic, "--offsets", "-y", "-ojson")
    again = at("topic", "delete", topic, "--offsets", "-y")

    for told in (planned, kept):
        assert f"group {group} keeps offsets in {topic}" in told.err
        assert f"`topic delete {topic} --offsets`" in told.err
    assert cells(done.rows, "result", "remark") == [("changed", f"offsets of group {group}")]
    assert again.exit_code == 3
    at("topic", "create", topic, "-q", "1")
    at("message", "send", topic, "n")
    assert cells(at.rows("group", "lag", group, topic), "lag", "standing") == [(1, "behind")]


def test_offsets_in_a_topic_that_is_gone_are_named_and_counted_nowhere(at: Run) -> None:
    topic, group = "IS_GONE", "IS_GONE_GROUP"
    at("topic", "create", topic, "-q", "1")
    at("message", "send", topic, "m")
    at("offset", "reset", group, topic, "--to", "latest", "-y")
    at("topic", "delete", topic, "-y")

    done = at("group", "lag", group, "-ojson")

    assert (done.exit_code, done.rows) == (0, [])
    assert f"group {group}, topic {topic}: the topic is gone" in done.err


def test_queues_with_unread_messages_are_taken_away_by_force_alone(at: Run) -> None:
    topic, group = "FEWER", "FEWER_GROUP"
    at("topic", "create", topic, "-q", "8")
    for queue_id in range(8):
        at("message", "send", topic, "m", "--queue", str(queue_id))
    at("offset", "reset", group, topic, "--to", "earliest", "-y")

    planned = at.row("topic", "update", topic, "--queues", "4", "--dry-run", exit_code=1)
    refused = at.row("topic", "update", topic, "--queues", "4", exit_code=1)
    split = at.row("topic", "update", topic, "--read-queues", "4", exit_code=1)
    forced = at("topic", "update", topic, "--queues", "4", "--force", "-ojson")

    text = f"queues 4 to 7 would no longer be readable, with unread messages: group {group} has 4"
    for row in (planned, refused, split):
        assert row["result"] == "refused"
        assert row["remark"].startswith(text)
        assert "--force" in row["remark"]
    assert (forced.exit_code, forced.rows[0]["read_queues"]) == (0, 4)
    assert text in forced.err


def test_unreadable_queues_are_counted_by_lag_doctor_and_status(at: Run) -> None:
    topic, group = "UNREADABLE", "UNREADABLE_GROUP"
    at("topic", "create", topic, "-q", "2")
    at("message", "send", topic, "m", "--queue", "1")
    at("offset", "reset", group, topic, "--to", "earliest", "-y")
    at("topic", "update", topic, "--queues", "1", "--force")

    lag = at.rows("group", "lag", group, topic)
    found = at.rows("doctor", "--check", "offset", exit_code=1)
    status = at("topic", "status", topic, "-ojson")

    assert cells(lag, "queue_id", "lag", "standing") == [(0, 0, "at the end"), (1, 1, UNREADABLE)]
    assert at("assert", "lag", group, topic).exit_code == 1
    (row,) = [row for row in found if row["subject"] == f"group {group}, topic {topic}"]
    assert "1 queue no longer readable" in row["found"]
    assert "--read-queues" in row["hint"]
    assert status.rows


def test_a_topic_whose_messages_would_go_in_vain_is_not_made(at: Run) -> None:
    words = ("topic", "create", "IN_VAIN", "--read-queues", "4", "--write-queues", "8")

    refused = at.row(*words, exit_code=1)
    forced = at(*words, "--force")

    assert "queues 4 to 7 would be written but never read" in refused["remark"]
    assert forced.exit_code == 0


def test_queues_are_taken_away_once_everything_is_read(at: Run) -> None:
    topic = "READ_ALL"
    at("topic", "create", topic, "-q", "2")
    at("message", "send", topic, "m", "--queue", "1")
    at("offset", "reset", "READ_ALL_GROUP", topic, "--to", "latest", "-y")

    assert at.row("topic", "update", topic, "--queues", "1")["result"] == "changed"
