"""Consumer groups made, changed and deleted, with the truth told of each broker."""

import pytest

from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.conftest import Run, cells


def test_a_group_is_created_once_and_then_unchanged(at: Run) -> None:
    first = at.row("group", "create", "made", "--retry-max", "3")
    again = at.row("group", "create", "made", "--retry-max", "3")
    other = at.row("group", "create", "made", "--retry-max", "4", exit_code=1)

    assert (first["result"], first["retry_max_times"]) == ("changed", 3)
    assert again["result"] == "unchanged"
    assert (other["result"], other["was"]) == ("refused", {"retry_max_times": 3})
    shown = at.rows("group", "config", "made")
    assert shown == at.rows("getConsumerConfig", "-g", "made")
    assert (shown[0]["broker"], shown[0]["consume_broadcast_enable"]) == ("broker-a", True)


def test_an_update_changes_only_what_is_named_and_is_undone(at: Run) -> None:
    at("group", "create", "updated", "--retry-max", "3")

    native = at.row("group", "update", "updated", "--consume", "false")
    java = at.row("updateSubGroup", "-c", "DefaultCluster", "-g", "updated", "-q", "2")

    assert (native["consume_enable"], native["retry_max_times"]) == (False, 3)
    assert native["was"] == {"consume_enable": True}
    changed = cells([java], "retry_queue_nums", "consume_enable", "retry_max_times")
    assert changed == [(2, False, 3)]
    replaced = at.row("group", "update", "updated", "--replace")
    names = ("consume_enable", "consume_from_min_enable", "consume_broadcast_enable")
    assert cells([replaced], *names, "retry_max_times") == [(True, False, False, 16)]
    at("undo", "-y")
    put_back = at.row("group", "config", "updated")
    assert (put_back["consume_enable"], put_back["retry_max_times"]) == (False, 3)


def test_java_makes_a_group_that_is_not_there(at: Run, servers: ServerAddresses) -> None:
    made = at.row("updateSubGroup", "-b", servers.broker, "-g", "java-made", "-r", "2")

    told = cells([made], "result", "retry_max_times", "consume_broadcast_enable")
    assert told == [("changed", 2, False)]


def test_a_group_is_deleted_with_what_it_left_and_comes_back(at: Run) -> None:
    at("topic", "create", "left", "-q", "1")
    at("group", "create", "leaving", "--retry-max", "3")
    at("topic", "create", "%RETRY%leaving", "-q", "1")
    at("message", "send", "left", "m")
    at("offset", "reset", "leaving", "left", "--to", "latest", "-y")

    assert at("group", "delete", "leaving").exit_code == 2
    words = ("group", "delete", "leaving", "--offsets", "--topics")
    planned = at.rows(*words, "--dry-run")
    done = at.rows(*words, "-y")

    assert {row["result"] for row in planned} == {"would change"}
    assert cells(done, "kind", "name", "result") == [
        ("group", "leaving", "changed"),
        ("topic", "%RETRY%leaving", "changed"),
        ("route", "%RETRY%leaving", "changed"),
    ]
    assert at("group", "config", "leaving").exit_code == 3
    assert at("offset", "show", "leaving").exit_code == 3
    assert at(*words, "-y").exit_code == 3
    put_back = at.rows("undo", "-y")
    assert cells(put_back, "kind", "result") == [
        ("group", "changed"),
        ("topic", "changed"),
        ("offset", "changed"),
    ]
    assert at.row("group", "config", "leaving")["retry_max_times"] == 3
    assert at.row("offset", "show", "leaving", "left")["consumer_offset"] == 1


def test_java_deletes_a_group_of_one_broker(at: Run, servers: ServerAddresses) -> None:
    at("group", "create", "java-deleted")

    done = at.rows("deleteSubGroup", "-b", servers.broker, "-g", "java-deleted", "-r", "true", "-y")

    assert cells(done, "kind", "result") == [("group", "changed")]


@pytest.mark.parametrize(
    ("words", "exit_code"),
    [
        (("group", "create", "a b"), 2),
        (("group", "create", "g", "--retry-max", "2147483648"), 2),
        (("group", "update", "g", "--retry-queues", "2147483648"), 2),
        (("group", "create", "g", "--cluster", "None"), 3),
        (("group", "create", "g", "--broker", "127.0.0.1:1"), 4),
        (("group", "update", "never-made", "--retry-max", "2"), 3),
        (("group", "update", "g", "--consume", "perhaps"), 2),
        (("group", "update", "g", "--retry-queues", "-1"), 2),
        (("group", "delete", "never-made", "-y"), 3),
        (("group", "config", "never-made"), 3),
        (("updateSubGroup", "-g", "g"), 2),
        (("deleteSubGroup", "-b", "127.0.0.1:1", "-g", "g", "-y"), 4),
    ],
)
def test_what_cannot_be(at: Run, words: tuple[str, ...], exit_code: int) -> None:
    assert at(*words).exit_code == exit_code
