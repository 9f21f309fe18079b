"""Offset verbs against running servers: preview, skip, clone, files, and undo."""

import json
from pathlib import Path

import pytest

from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.commands.test_messages import fill
from tests.mqadmin.conftest import Result, Run, cells, rows

TOPIC = "offset-verbs"


@pytest.fixture(scope="module")
def filled() -> list[bool]:
    """Return a list that says whether the topic has its messages."""
    return []


@pytest.fixture
def topic(at: Run, filled: list[bool]) -> str:
    """Return a topic with 2 queues of 3 messages."""
    if not filled:
        at("topic", "create", TOPIC, "-q", "2")
        fill(at, TOPIC, 6)
        filled.append(True)
    return TOPIC


def moved(done: Result) -> list[tuple[object, ...]]:
    return cells(rows(done), "old_offset", "new_offset")


def test_a_dry_reset_tells_what_is_skipped_and_what_comes_first(at: Run, topic: str) -> None:
    at("offset", "reset", "DryG", topic, "--to", "1", "-y")

    ahead = at.rows("offset", "reset", "DryG", topic, "--to", "latest", "--dry-run")
    back = at.rows("offset", "reset", "DryG", topic, "--to", "0", "--dry-run")

    assert cells(ahead, "skipped", "replayed", "first_msg_id") == [(2, 0, None)] * 2
    assert cells(back, "skipped", "replayed", "first_keys") == [(0, 1, ["k0"]), (0, 1, ["k1"])]
    assert moved(at("offset", "reset", "DryG", topic, "--to", "1", "-y", "-ojson")) == [(1, 1)] * 2


def test_a_table_has_a_column_for_the_first_message_where_it_is_looked_at(
    at: Run, topic: str
) -> None:
    dry = at("offset", "reset", "TableG", topic, "--to", "0", "--dry-run").out
    real = at("offset", "reset", "TableG", topic, "--to", "0", "-y").out

    assert "FIRST_MSG_ID" in dry.splitlines()[0]
    assert real.splitlines()[0].split()[-1] == "HOW"


def test_messages_are_skipped(at: Run, topic: str) -> None:
    at("offset", "reset", "SkipG", topic, "--to", "0", "-y")

    assert moved(at("offset", "skip", "SkipG", topic, "2", "-y", "-ojson")) == [(0, 2)] * 2
    java = ("skipAccumulatedMessage", "-g", "SkipG", "-t", topic, "-f", "true", "-y")
    assert moved(at(*java, "--output", "json")) == [(2, 3)] * 2
    assert at("offset", "skip", "SkipG", topic, "0", "-y").exit_code == 2
    assert at("offset", "skip", "SkipG", topic).exit_code == 2
    assert at("offset", "skip", "SkipG", "no-such-topic", "-y").exit_code == 3


def test_a_skip_that_would_move_nothing_is_refused(at: Run, topic: str) -> None:
    refused = at("skipAccumulatedMessage", "-g", "SkipG", "-t", topic, "-f", "false", "-y")

    assert (refused.exit_code, "false has no effect" in refused.err) == (2, True)


def test_without_force_a_group_is_only_moved_back(at: Run, topic: str) -> None:
    at("offset", "reset", "BackG", topic, "--to", "1", "-y")

    kept = at.rows("offset", "reset", "BackG", topic, "--to", "2", "--only-back", "-y")
    java = ("resetOffsetByTime", "-g", "BackG", "-t", topic, "-f", "false", "-y")
    late = at(*java, "-s", "now", "--compat").out.splitlines()
    back = at(*java, "-s", "0", "--output", "json")

    assert cells(kept, "new_offset", "asked_offset", "how") == [(1, 2, "unchanged")] * 2
    assert "force[false]" in late[0]
    # Where the broker is, the group was, the time is, and the group went.
    assert [line.split()[2:] for line in late[2:]] == [["3", "1", "3", "1"]] * 2
    assert moved(back) == [(1, 0)] * 2


def test_without_force_a_group_without_offsets_is_left_alone(at: Run, topic: str) -> None:
    words = ("offset", "reset", "NoOffsetG", topic, "--to", "latest", "--only-back", "-y")

    done = at.rows(*words)

    assert cells(done, "changed", "how") == [(False, "unchanged")] * 2
    assert at("offset", "show", "NoOffsetG", topic).exit_code == 3


def test_one_broker_or_one_queue_of_it_is_moved(
    at: Run, topic: str, servers: ServerAddresses
) -> None:
    java = ("resetOffsetByTime", "-g", "OneG", "-t", topic, "-s", "0", "-b", "broker-a", "-y")

    both = at("offset", "reset", "OneG", topic, "--to", "2", "--broker", servers.broker, "-y")
    one = at.rows(*java, "-q", "1")

    assert both.exit_code == 0, both.err
    assert cells(one, "queue_id", "old_offset", "new_offset") == [(1, 2, 0)]
    missing = at("offset", "reset", "OneG", topic, "--to", "0", "--broker", "elsewhere", "-y")
    assert missing.exit_code == 3
    assert "has no queue on broker elsewhere" in missing.err


def test_what_was_overwritten_can_be_put_back(at: Run, topic: str) -> None:
    at("offset", "reset", "UndoG", topic, "--to", "1", "-y")

    told = at("offset", "reset", "UndoG", topic, "--to", "latest", "-y")
    at("undo", "-y")

    assert "undo" in told.err
    shown = at.rows("offset", "show", "UndoG", topic)
    assert [row["consumer_offset"] for row in shown] == [1, 1]


def test_a_group_gets_the_offsets_of_another(at: Run, topic: str) -> None:
    at("offset", "reset", "FromG", topic, "--to", "2", "-y")

    planned = at.rows("offset", "clone", "FromG", "ToG", "--dry-run")
    done = at.rows("offset", "clone", "FromG", "ToG", "-y")
    java = ("cloneGroupOffset", "-s", "FromG", "-d", "ToG", "-t", topic, "-o", "true", "-y")

    assert {row["how"] for row in planned} == {"would change"}
    assert cells(done, "group", "new_offset", "how") == [("ToG", 2, "stored")] * 2
    assert moved(at(*java, "--output", "json")) == [(2, 2)] * 2
    assert at("offset", "clone", "NoSuchG", "ToG", "-y").exit_code == 3
    assert at("offset", "clone", "FromG", "FromG", "-y").exit_code == 2
    assert at("offset", "clone", "FromG", "ToG").exit_code == 2


def test_offsets_go_into_a_file_and_out_of_it(at: Run, topic: str, tmp_path: Path) -> None:
    at("offset", "reset", "FileG", topic, "--to", "2", "-y")
    file = tmp_path / "offsets.jsonl"

    written = at.row("offset", "export", "FileG", "--to", str(file))
    at("offset", "reset", "FileG", topic, "--to", "0", "-y")
    planned = at.rows("offset", "import", str(file), "--dry-run")
    shown = at("offset", "show", "FileG", "-ojsonl").out
    kept = at.rows("offset", "import", "-", "--dry-run", stdin=shown)
    done = at.rows("offset", "import", str(file), "-y")

    assert cells(kept, "old_offset", "how") == [(0, "unchanged")] * 2
    assert (written["groups"], written["rows"]) == (1, 2)
    assert {row["how"] for row in planned} == {"would change"}
    assert cells(done, "old_offset", "new_offset") == [(0, 2)] * 2
    assert at("offset", "export", "FileG", "--to", str(file)).exit_code == 2
    assert at("offset", "export", "NoSuchG", "--to", str(tmp_path / "x")).exit_code == 3
    assert at("offset", "import", str(tmp_path / "none"), "-y").exit_code == 3


@pytest.mark.parametrize(
    ("line", "exit_code"),
    [
        ("nonsense", 2),
        ("{}", 2),
        ("", 2),
        ('{"group":"G","topic":1,"queue_id":0,"consumer_offset":1,"broker":"broker-a"}', 2),
        ('{"group":"G","topic":"offset-verbs","queue_id":0,"consumer_offset":1}', 2),
        ('{"group":"G","topic":"never","queue_id":0,"consumer_offset":1,"broker":"broker-a"}', 3),
        (
            '{"group":"G","topic":"offset-verbs","queue_id":9,"consumer_offset":1,'
            '"broker":"broker-a"}',
            5,
        ),
    ],
)
def test_a_file_that_cannot_be_right_is_refused(
    at: Run, topic: str, tmp_path: Path, line: str, exit_code: int
) -> None:
    file = tmp_path / "offsets.jsonl"
    file.write_text(line + "\n")

    assert at("offset", "import", str(file), "-y").exit_code == exit_code, json.dumps(line)


def test_a_group_with_offsets_and_no_settings_has_a_lag(at: Run) -> None:
    at("topic", "create", "lag-of-all", "-q", "1")
    at("offset", "reset", "OffsetsAlone", "lag-of-all", "--to", "earliest", "-y")

    listed = at.rows("group", "lag")

    assert "OffsetsAlone" in {row["group"] for row in listed}


def test_an_import_past_the_end_is_refused_row_by_row(at: Run, topic: str) -> None:
    lines = "".join(
        json.dumps(
            {
                "group": "ImportG",
                "topic": topic,
                "broker": "broker-a",
                "queue_id": queue_id,
                "consumer_offset": offset,
            }
        )
        + "\n"
        for queue_id, offset in ((0, 1), (1, 435))
    )

    done = at("offset", "import", "-", "-y", "-ojson", stdin=lines)
    clamped = at.rows("offset", "import", "-", "-y", "--clamp", stdin=lines)

    assert done.exit_code == 5
    assert cells(done.rows, "queue_id", "how", "asked_offset") == [
        (0, "stored", 1),
        (1, "refused", 435),
    ]
    assert "435 is past the end of this queue (0 to 3); --clamp" in done.rows[1]["remark"]
    assert cells(clamped, "queue_id", "new_offset", "asked_offset") == [(0, 1, 1), (1, 3, 435)]
    assert clamped[1]["remark"] == "435 is past the end of this queue (0 to 3)"


def test_several_topics_are_moved_by_one_plan_and_put_back_by_one_undo(at: Run) -> None:
    for topic in ("PLAN_A", "PLAN_B"):
        at("topic", "create", topic, "-q", "1")
        at("message", "send", topic, "m")
    group = "PLANNED"

    missing = at("offset", "reset", group, "PLAN_A", "NO_SUCH", "--to", "latest", "-y")
    none_yet = at("offset", "show", group)
    moved = at.rows("offset", "reset", group, "PLAN_A", "PLAN_B", "--to", "earliest", "-y")
    again = at.rows("offset", "reset", group, "PLAN_A", "PLAN_B", "--to", "latest", "-y")
    undone = at.rows("undo", "-y")

    assert (missing.exit_code, none_yet.exit_code) == (3, 3)
    assert cells(moved, "topic", "new_offset") == [("PLAN_A", 0), ("PLAN_B", 0)]
    assert cells(again, "topic", "new_offset") == [("PLAN_A", 1), ("PLAN_B", 1)]
    assert len(undone) == 2
    assert cells(at.rows("offset", "show", group), "consumer_offset") == [(0,), (0,)]
