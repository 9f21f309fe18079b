"""Reading verbs on a store directory say what they say of the broker that writes it."""

import json
from pathlib import Path

import pytest

from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.commands.test_messages import fill
from tests.mqadmin.conftest import Run, rows
from tests.waiting import wait

TOPIC, GROUP = "offline-verbs", "OfflineVerbsG"
SHOWN = ("topic", "queue_id", "queue_offset", "log_offset", "msg_id", "body", "keys", "store_ms")


@pytest.fixture(scope="module")
def sent() -> list[dict[str, object]]:
    """Return a list for what was sent."""
    return []


@pytest.fixture
def messages(
    at: Run, run: Run, servers: ServerAddresses, sent: list[dict[str, object]]
) -> list[dict[str, object]]:
    """Return what was sent to the topic: two messages to each of two queues."""
    if not sent:
        at("topic", "create", TOPIC, "-q", "2")
        sent += fill(at, TOPIC)
        at("offset", "reset", GROUP, TOPIC, "--to", "1", "-y")
        # A broker writes queue entries about a second after the log.
        wait(lambda: all(_is_written(run, servers, queue_id) for queue_id in ("0", "1")))
    return sent


def _is_written(run: Run, servers: ServerAddresses, queue_id: str) -> bool:
    done = run("queue", "show", TOPIC, queue_id, "--store", servers.store, "-ojson")
    return done.exit_code == 0 and len(rows(done)) == 2


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
    at: Run,
    run: Run,
    servers: ServerAddresses,
    messages: list[dict[str, object]],
    words: tuple[str, ...],
) -> None:
    line = [word.format(**messages[1]) for word in words]

    online = rows(at(*line, "-ojson"))
    offline = rows(run(*line, "--store", servers.store, "-ojson"))

    def told(found: list[dict[str, object]]) -> list[tuple[str, ...]]:
        return sorted(tuple(str(row[name]) for name in SHOWN) for row in found)

    assert told(offline) == told(online)
    assert offline


def test_topics_queues_and_delays_are_those_of_the_broker(
    at: Run, run: Run, servers: ServerAddresses, messages: list[dict[str, object]]
) -> None:
    where = ("--store", servers.store, "-ojson")

    entries = rows(run("queue", "show", TOPIC, "1", *where))

    assert TOPIC in [row["topic"] for row in rows(run("topic", "list", *where))]
    assert [row["queue_offset"] for row in entries] == [0, 1]
    same = rows(at("queue", "show", TOPIC, "1", "-ojson"))
    assert [row["tags_code"] for row in entries] == [row["tags_code"] for row in same]
    ends = ("queue_id", "min_offset", "max_offset")
    known = [[row[name] for name in ends] for row in rows(at("topic", "status", TOPIC, "-ojson"))]
    assert [
        [row[name] for name in ends] for row in rows(run("topic", "status", TOPIC, *where))
    ] == known
    assert len(rows(run("delay", "list", *where))) == 18


def test_groups_and_lags_are_those_of_the_broker(
    at: Run, run: Run, servers: ServerAddresses, messages: list[dict[str, object]]
) -> None:
    where = ("--store", servers.store, "-ojson")

    def lag(found: list[dict[str, object]]) -> list[list[object]]:
        names = ("group", "topic", "queue_id", "broker_offset", "consumer_offset", "lag")
        return [[row[name] for name in names] for row in found]

    offline = wait(lambda: run("group", "lag", GROUP, *where), lambda done: done.exit_code == 0)

    assert lag(rows(offline)) == lag(rows(at("group", "lag", GROUP, "-ojson")))
    groups = {str(row["group"]): row for row in rows(run("group", "list", *where))}
    assert (groups[GROUP]["topics"], groups[GROUP]["members"]) == ([TOPIC], None)
    assert run("group", "lag", "NoSuchGroup", *where).exit_code == 3


def test_queues_say_when_they_were_written_last(
    at: Run, run: Run, servers: ServerAddresses, messages: list[dict[str, object]]
) -> None:
    names = ("queue_id", "min_offset", "max_offset", "message_count", "last_updated_ms", "perm")

    online, offline = (
        [[row[name] for name in names] for row in rows(done)]
        for done in (
            at("topic", "show", TOPIC, "-ojson"),
            run("topic", "show", TOPIC, "--store", servers.store, "-ojson"),
        )
    )

    assert offline == online


def test_a_store_is_followed_traced_and_exported(
    at: Run, run: Run, servers: ServerAddresses, messages: list[dict[str, object]], tmp_path: Path
) -> None:
    where = ("--store", servers.store)
    file = tmp_path / "all.jsonl"

    tail = run("message", "tail", TOPIC, "--from", "earliest", "-c", "3", *where, "-ojsonl")
    queue = run(
        *("message", "tail", TOPIC, "--from", "earliest", "--queue", "1", "-t", "B"),
        *("--no-follow", *where, "-ojsonl"),
    )
    few = run(
        *("message", "tail", TOPIC, "--from", "earliest", "--queue", "1", "--bytes", "3"),
        *("--no-follow", *where, "-ojsonl"),
    )
    none = run(
        *("message", "tail", TOPIC, "--from", "earliest", "--scan", "1", "--json", "x"),
        *("--no-follow", *where, "-ojsonl"),
    )
    trace = ("message", "trace", "k1", "--topic", TOPIC, *where, "-ojson")
    # A broker writes the positions of groups every five seconds.
    wait(lambda: any(row["step"] == "group" for row in rows(run(*trace))))
    life = rows(run(*trace))
    export = rows(run("message", "export", TOPIC, "--to", str(file), *where, "-ojson"))

    assert len(tail.out.splitlines()) == 3
    assert {json.loads(line)["queue_id"] for line in queue.out.splitlines()} == {1}
    assert (len(few.out.splitlines()), none.out) == (1, "")
    assert life[0]["step"] == "store"
    assert {row["group"] for row in life if row["step"] == "group"} == {GROUP}
    assert export[0]["rows"] == len(messages) == len(file.read_text().splitlines())
    assert run("message", "tail", TOPIC, "--queue", "x", *where).exit_code == 2
    resumed = run("message", "export", TOPIC, "--to", str(file), "--resume", *where)
    assert resumed.exit_code == 2


def test_dead_letters_are_read_out_of_a_store(at: Run, run: Run, servers: ServerAddresses) -> None:
    where = ("--store", servers.store, "-ojson")
    at("topic", "create", "%DLQ%OfflineDead", "-q", "1")
    at("message", "send", "%DLQ%OfflineDead", "given up", "-p", "origin=orders")

    listed = wait(
        lambda: run("dead-letter", "list", "OfflineDead", *where),
        lambda done: done.exit_code == 0 and bool(rows(done)),
    )
    (shown,) = rows(run("dead-letter", "show", "OfflineDead", *where))

    assert [(row["group"], row["message_count"]) for row in rows(listed)] == [("OfflineDead", 1)]
    assert (shown["body"], shown["group"]) == ("given up", "OfflineDead")
    assert rows(run("dead-letter", "show", "OfflineDead", "--topic", "other", *where)) == []


def test_what_a_store_does_not_have_exits_3(
    run: Run, servers: ServerAddresses, messages: list[dict[str, object]]
) -> None:
    for words in (
        ("message", "query", "key", TOPIC, "none"),
        ("message", "query", "offset", TOPIC, "1", "99"),
        ("message", "query", "offset", TOPIC, "9", "0"),
        ("queue", "show", TOPIC, "9"),
        ("topic", "status", "no-such-topic"),
        ("offset", "show", "NoSuchGroup"),
    ):
        assert run(*words, "--store", servers.store).exit_code == 3, words
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
    run: Run,
    servers: ServerAddresses,
    messages: list[dict[str, object]],
    verb: tuple[str, ...],
    of_store: tuple[str, ...],
) -> None:
    for output in ("json", "table"):
        here = ("--store", servers.store, "-o", output)
        # A broker writes the positions of groups every five seconds.
        done = wait(lambda: run("store", *of_store, *here), lambda ran: ran.exit_code == 0)  # noqa: B023

        assert run(*verb, *here) == done
        assert done.out


def test_offsets_of_a_store_can_be_imported(
    at: Run, run: Run, servers: ServerAddresses, messages: list[dict[str, object]]
) -> None:
    words = ("offset", "show", GROUP, "--store", servers.store, "-ojsonl")
    shown = wait(lambda: run(*words), lambda ran: ran.exit_code == 0)

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
    run: Run, servers: ServerAddresses, words: tuple[str, ...], option: str
) -> None:
    done = run(*words, "--store", servers.store)

    assert done.exit_code == 2
    assert f"{option}: means nothing to" in done.err
