"""Reading verbs on a store directory say what they say of the broker that writes it."""

import json
from pathlib import Path

import pytest

from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.commands.test_messages import fill
from tests.mqadmin.conftest import Row, Run, cells, rows
from tests.waiting import wait

TOPIC, GROUP = "offline-verbs", "OfflineVerbsG"
SHOWN = ("topic", "queue_id", "queue_offset", "log_offset", "msg_id", "body", "keys", "store_ms")


@pytest.fixture(scope="module")
def sent() -> list[Row]:
    """Return a list for what was sent."""
    return []


@pytest.fixture
def on_store(run: Run, servers: ServerAddresses) -> Run:
    """Return a function that runs one line on the directory of the broker."""
    return Run(lambda *words: run(*words, "--store", servers.store))


@pytest.fixture
def messages(at: Run, on_store: Run, sent: list[Row]) -> list[Row]:
    """Return what was sent to the topic: two messages to each of two queues."""
    if not sent:
        at("topic", "create", TOPIC, "-q", "2")
        sent += fill(at, TOPIC)
        at("offset", "reset", GROUP, TOPIC, "--to", "1", "-y")
        # A broker writes queue entries about a second after the log.
        wait(lambda: all(_is_written(on_store, queue_id) for queue_id in ("0", "1")))
    return sent


def _is_written(on_store: Run, queue_id: str) -> bool:
    done = on_store("queue", "show", TOPIC, queue_id, "-ojson")
    return done.exit_code == 0 and len(done.rows) == 2


@pytest.mark.parametrize(
    "words",
    [
        ("message", "query", "id", "{msg_id}"),
        ("message", "query", "key", TOPIC, "k1"),
        ("message", "query", "unique-key", TOPIC, "{unique_key}"),
        ("message", "query", "offset", TOPIC, "1", "0"),
        ("message", "query", "time", TOPIC, "--from", "-1h"),
        ("message", "print", TOPIC, "--tag", "B"),
        ("message", "print", TOPIC, "1", "--start", "1"),
        ("message", "print", TOPIC, "1", "--bytes", "3"),
    ],
)
def test_messages_are_those_of_the_broker(
    at: Run, on_store: Run, messages: list[Row], words: tuple[str, ...]
) -> None:
    line = [word.format(**messages[1]) for word in words]

    online, offline = at.rows(*line), on_store.rows(*line)

    assert sorted(map(str, cells(offline, *SHOWN))) == sorted(map(str, cells(online, *SHOWN)))
    assert offline


def test_topics_queues_and_delays_are_those_of_the_broker(
    at: Run, on_store: Run, messages: list[Row]
) -> None:
    entries = on_store.rows("queue", "show", TOPIC, "1")

    assert TOPIC in [row["topic"] for row in on_store.rows("topic", "list")]
    assert [row["queue_offset"] for row in entries] == [0, 1]
    same = at.rows("queue", "show", TOPIC, "1")
    assert cells(entries, "tags_code") == cells(same, "tags_code")
    status, ends = ("topic", "status", TOPIC), ("queue_id", "min_offset", "max_offset")
    assert cells(on_store.rows(*status), *ends) == cells(at.rows(*status), *ends)
    assert len(on_store.rows("delay", "list", "--all")) == 18


def test_groups_and_lags_are_those_of_the_broker(
    at: Run, on_store: Run, messages: list[Row]
) -> None:
    words = ("group", "lag", GROUP)
    names = ("group", "topic", "queue_id", "broker_offset", "consumer_offset", "lag")

    wait(lambda: on_store(*words).exit_code == 0)

    assert cells(on_store.rows(*words), *names) == cells(at.rows(*words), *names)
    groups = {row["group"]: row for row in on_store.rows("group", "list")}
    assert (groups[GROUP]["topics"], groups[GROUP]["members"]) == ([TOPIC], None)
    assert on_store("group", "lag", "NoSuchGroup").exit_code == 3


def test_queues_say_when_they_were_written_last(
    at: Run, on_store: Run, messages: list[Row]
) -> None:
    names = ("queue_id", "min_offset", "max_offset", "message_count", "last_updated_ms", "perm")

    online, offline = (run.rows("topic", "show", TOPIC) for run in (at, on_store))

    assert cells(offline, *names) == cells(online, *names)


def test_a_store_is_followed_traced_and_exported(
    on_store: Run, messages: list[Row], tmp_path: Path
) -> None:
    file = tmp_path / "all.jsonl"

    def tail(*words: str) -> list[Row]:
        done = on_store("message", "tail", TOPIC, "--from", "earliest", *words, "-ojsonl")
        return [json.loads(line) for line in done.out.splitlines()]

    first = tail("-c", "3")
    queue = tail("--queue", "1", "-t", "B", "--no-follow")
    few = tail("--queue", "1", "--bytes", "3", "--no-follow")
    none = tail("--scan", "1", "--json", "x", "--no-follow")
    trace = ("message", "trace", "k1", "--topic", TOPIC)
    # A broker writes the positions of groups every five seconds.
    wait(lambda: any(row["step"] == "group" for row in on_store.rows(*trace)))
    life = on_store.rows(*trace)
    export = on_store.row("message", "export", TOPIC, "--to", str(file))

    assert (len(first), len(few), none) == (3, 1, [])
    assert {row["queue_id"] for row in queue} == {1}
    assert life[0]["step"] == "store"
    assert {row["group"] for row in life if row["step"] == "group"} == {GROUP}
    assert export["rows"] == len(messages) == len(file.read_text().splitlines())
    assert on_store("message", "tail", TOPIC, "--queue", "x").exit_code == 2
    assert on_store("message", "export", TOPIC, "--to", str(file), "--resume").exit_code == 2


def test_dead_letters_are_read_out_of_a_store(at: Run, on_store: Run) -> None:
    at("topic", "create", "%DLQ%OfflineDead", "-q", "1")
    at("message", "send", "%DLQ%OfflineDead", "given up", "-p", "origin=orders")
    verbs = ("dead-letter", "list", "OfflineDead"), ("dead-letter", "show", "OfflineDead")

    listed = wait(
        lambda: on_store(*verbs[0], "-ojson"), lambda done: done.exit_code == 0 and done.rows
    )
    shown = on_store.row(*verbs[1])

    assert cells(rows(listed), "group", "message_count") == [("OfflineDead", 1)]
    assert (shown["body"], shown["group"]) == ("given up", "OfflineDead")
    assert on_store.rows(*verbs[1], "--topic", "other") == []


def test_what_a_store_does_not_have_exits_3(run: Run, on_store: Run, messages: list[Row]) -> None:
    for words in (
        ("message", "query", "key", TOPIC, "none"),
        ("message", "query", "offset", TOPIC, "1", "99"),
        ("message", "query", "offset", TOPIC, "9", "0"),
        ("queue", "show", TOPIC, "9"),
        ("topic", "status", "no-such-topic"),
        ("offset", "show", "NoSuchGroup"),
    ):
        assert on_store(*words).exit_code == 3, words
        assert run(*words, "--store", "/nowhere").exit_code == 3, words


@pytest.mark.parametrize(
    ("verb", "of_store"),
    [
        (("message", "trace", "k1", "--topic", TOPIC), ("trace", "k1", "--topic", TOPIC)),
        (("queue", "show", TOPIC, "1"), ("queue", TOPIC, "1", "--limit", "10")),
        (("queue", "show", TOPIC, "broker-a:1", "-c", "1"), ("queue", TOPIC, "1", "-c", "1")),
        (("offset", "show", GROUP), ("offsets", "--group", GROUP)),
        (("offset", "show", GROUP, TOPIC), ("offsets", "--group", GROUP, "--topic", TOPIC)),
    ],
)
def test_a_lookup_in_a_store_is_one_under_both_names(
    on_store: Run, messages: list[Row], verb: tuple[str, ...], of_store: tuple[str, ...]
) -> None:
    # A broker writes the positions of groups every five seconds.
    wait(lambda: on_store("store", *of_store).exit_code == 0)

    for output in ("json", "table"):
        done = on_store("store", *of_store, "-o", output)
        assert on_store(*verb, "-o", output) == done
        assert (done.exit_code, bool(done.out)) == (0, True)


def test_offsets_of_a_store_can_be_imported(at: Run, on_store: Run, messages: list[Row]) -> None:
    words = ("offset", "show", GROUP, "-ojsonl")
    shown = wait(lambda: on_store(*words), lambda ran: ran.exit_code == 0)

    taken = at(*("offset", "import", "-", "--broker", "broker-a", "-y", "-ojson"), stdin=shown.out)

    assert taken.exit_code == 0, taken.err
    assert {row["new_offset"] for row in rows(taken)} == {1}


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("queue", "show", TOPIC, "1", "--group", "G"), "--group"),
        (("queue", "show", TOPIC, "1", "--broker", "broker-a"), "--broker"),
        (("message", "trace", "k1", "--trace-topic", "T"), "--trace-topic"),
    ],
)
def test_what_only_servers_know_is_refused_with_a_store(
    on_store: Run, words: tuple[str, ...], option: str
) -> None:
    done = on_store(*words)

    assert done.exit_code == 2
    assert f"{option}: has no effect on" in done.err
