"""Dead letters and delayed messages against running servers."""

import asyncio

import pytest

from mqadmin.shell.server import ServerAddresses
from mqclient.client.instance import MQClient
from remoting.codes import RequestCode
from remoting.header import Header
from remoting.headers import ConsumerSendMsgBack
from tests.mqadmin.commands.test_messages import fill
from tests.mqadmin.conftest import Result, Run, cells, rows
from tests.server.broker.desk import send
from tests.waiting import wait

TOPIC, GROUP = "dead-letter-verbs", "DeadG"
DLQ = "%DLQ%" + GROUP


async def give_up(servers: ServerAddresses, log_offset: int, unique_key: str) -> None:
    """Send a message back as a consumer does that does not want it again."""
    header = ConsumerSendMsgBack(
        group=GROUP,
        offset=log_offset,
        delay_level=-1,
        origin_msg_id=unique_key,
        origin_topic=TOPIC,
        max_reconsume_times=16,
    )
    async with MQClient(servers.namesrv, timeout_s=60) as client:
        await client.call(
            servers.broker, RequestCode.CONSUMER_SEND_MSG_BACK, header, what="send back"
        )


@pytest.fixture(scope="module")
def given_up() -> list[object]:
    """Return a list for the keys that were given up."""
    return []


@pytest.fixture
def dead(at: Run, servers: ServerAddresses, given_up: list[object]) -> list[object]:
    """Return the keys of three dead letters of the group, in the order of giving up."""
    if given_up:
        return given_up
    assert at("topic", "create", TOPIC, "-q", "2").exit_code == 0
    # A group that a broker has settings of may send messages back.
    at("offset", "reset", GROUP, TOPIC, "--to", "0", "-y")
    sent = fill(at, TOPIC, 3)
    for row in sent:
        shown = at.row("message", "query", "id", row["msg_id"])
        offset = shown["log_offset"]
        asyncio.run(give_up(servers, offset, row["unique_key"]))
    # The broker registers the topic that it has made a moment after its answer.
    wait(lambda: DLQ in at("topic", "list", "-oname").out)
    given_up += [f"k{i}" for i in range(3)]
    return given_up


def keys(done: Result) -> list[object]:
    return [row["keys"][0] for row in rows(done)]


def test_groups_with_dead_letters_are_listed(at: Run, dead: list[object]) -> None:
    row = at.row("dead-letter", "list", GROUP)

    assert (row["group"], row["message_count"], row["topic"]) == (GROUP, len(dead), DLQ)
    assert at.rows("dead-letter", "list", "Nobody") == []


def test_a_group_without_dead_letters_is_told_so(at: Run) -> None:
    done = at("dead-letter", "show", "NEVER")

    assert done.exit_code == 3
    assert done.err.startswith("error: group NEVER has no dead letters; ")


def test_dead_letters_are_shown_by_what_is_asked_for(at: Run, dead: list[object]) -> None:
    every = at.rows("dead-letter", "show", GROUP)

    assert [row["keys"] for row in every] == [[key] for key in dead]
    assert {row["origin_topic"] for row in every} == {TOPIC}
    assert keys(at("dead-letter", "show", GROUP, "--key", "k1", "-ojson")) == ["k1"]
    assert keys(at("dead-letter", "show", GROUP, "--tag", "A", "-ojson")) == ["k0", "k2"]
    assert keys(at("dead-letter", "show", GROUP, "-c", "1", "-ojson")) == ["k0"]
    by_id = at("dead-letter", "show", GROUP, "--id", every[2]["msg_id"], "-ojson")
    assert keys(by_id) == ["k2"]
    assert at.rows("dead-letter", "show", GROUP, "--topic", "other") == []
    assert at.rows("dead-letter", "show", GROUP, "--to", "-1h") == []
    assert at("dead-letter", "show", "NeverDead").exit_code == 3


def test_dead_letters_go_back_to_the_group_alone(at: Run, dead: list[object]) -> None:
    planned = at.rows("dead-letter", "resend", GROUP, "--dry-run")
    done = at.rows("dead-letter", "resend", GROUP, "--key", "k1", "--rate", "100", "-y")

    assert {row["status"] for row in planned} == {"would change"}
    assert cells(done, "status", "to") == [("SEND_OK", "%RETRY%" + GROUP)]
    shown = at.row("message", "query", "id", done[0]["new_msg_id"])
    assert (shown["body"], shown["keys"]) == ("m1", ["k1"])
    assert shown["properties"]["RETRY_TOPIC"] == TOPIC


def test_dead_letters_go_to_a_topic(at: Run, dead: list[object]) -> None:
    back = at.rows("dead-letter", "resend", GROUP, "--into", "origin", "-c", "1", "-y")
    other = at.rows("dead-letter", "resend", GROUP, "--into", "elsewhere", "-y")

    assert [row["to"] for row in back] == [TOPIC]
    assert [row["to"] for row in other] == ["elsewhere"] * 3


@pytest.mark.parametrize(
    ("words", "exit_code"),
    [
        ((GROUP, "--key", "none", "-y"), 3),
        (("NeverDead", "-y"), 3),
        ((GROUP,), 2),
        ((GROUP, "--rate", "0", "-y"), 2),
        ((GROUP, "--into", "%DLQ%bad/name", "-y"), 1),
    ],
)
def test_a_resend_that_cannot_be_says_why(
    at: Run, dead: list[object], words: tuple[str, ...], exit_code: int
) -> None:
    assert at("dead-letter", "resend", *words).exit_code == exit_code


def test_the_trace_of_a_message_knows_that_it_was_given_up(at: Run, dead: list[object]) -> None:
    at("offset", "reset", GROUP, TOPIC, "--to", "latest", "-y")

    steps = at.rows("message", "trace", "k2", "--topic", TOPIC)

    told = cells(steps, "step", "group")
    assert told[0] == ("store", None)
    assert ("dead_letter", GROUP) in told
    assert told[-1] == ("group", GROUP)


def test_delayed_messages_are_counted_by_level(at: Run) -> None:
    at("topic", "create", "delayed", "-q", "1")
    for _ in range(2):
        at("message", "send", "delayed", "later", "--delay-level", "18")

    # Timer messages of other tests have rows of their own, without a level.
    levels = [row for row in at.rows("delay", "list", "--all") if row["level"] is not None]
    waiting = at.rows("delay", "list", "--waiting")
    assert waiting == at.rows("delay", "list")
    assert next(row for row in waiting if row["level"] == 18)["whose"] == ["delayed: 2"]

    assert len(levels) == 18
    last = levels[-1]
    assert (last["level"], last["delay_ms"], last["pending"], last["due"]) == (18, 7_200_000, 2, 0)
    assert last["next_due_time"].endswith("Z")
    assert last in waiting
    assert at("delay", "list", "--broker", "nobody").exit_code == 3


@pytest.fixture(scope="module")
def stored_to_wait() -> dict[str, str]:
    """Return a dict for the unique keys of the messages that wait, by kind."""
    return {}


@pytest.fixture
def waiting(at: Run, servers: ServerAddresses, stored_to_wait: dict[str, str]) -> dict[str, str]:
    """Return the unique keys of a delayed, a timer and a half message of one topic, by kind."""
    if not stored_to_wait:
        at("topic", "create", "WAITS", "-q", "1")
        for kind, more, sys_flag in (
            ("delayed", "DELAY\00117", 0),
            ("timer", "TIMER_DELAY_SEC\0013600", 0),
            ("half", "TRAN_MSG\1true\2PGROUP\1PG", 4),
        ):
            key = f"7F0000010000{kind.upper()}"
            properties = f"UNIQ_KEY\1{key}\2KEYS\1{kind}\2{more}"
            header = send(topic="WAITS", properties=properties, sys_flag=sys_flag)
            asyncio.run(ask(servers, RequestCode.SEND_MESSAGE_V2, header))
            stored_to_wait[kind] = key
    return stored_to_wait


async def ask(servers: ServerAddresses, code: RequestCode, header: Header) -> None:
    async with MQClient(servers.namesrv, timeout_s=60) as client:
        await client.call(servers.broker, code, header, what="a request", body=b"x")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("delayed", "is in SCHEDULE_TOPIC_XXXX and waits until its delay has passed"),
        ("timer", "is in rmq_sys_wheel_timer and waits for its time of delivery"),
        ("half", "is in RMQ_SYS_TRANS_HALF_TOPIC and waits for the commit of its transaction"),
    ],
)
def test_a_query_says_that_the_message_still_waits(
    at: Run, waiting: dict[str, str], kind: str, text: str
) -> None:
    for words in (
        ("message", "query", "key", "WAITS", kind),
        ("message", "query", "unique-key", "WAITS", waiting[kind]),
        ("message", "get", kind, "--topic", "WAITS"),
        ("message", "get", waiting[kind], "--topic", "WAITS"),
    ):
        # An index file gets its entries a moment after the message was stored.
        wait(lambda words=words: text in at(*words).err)
        assert at(*words).exit_code == 3


def test_a_message_that_waits_for_another_topic_is_not_named(
    at: Run, waiting: dict[str, str]
) -> None:
    at("topic", "create", "WAITS_NOT", "-q", "1")

    done = at("message", "query", "key", "WAITS_NOT", "delayed")

    assert done.exit_code == 3
    assert "check the key" in done.err


@pytest.mark.parametrize(
    ("kind", "step"), [("delayed", "delay"), ("timer", "delay"), ("half", "half")]
)
def test_a_trace_shows_where_the_message_waits(
    at: Run, waiting: dict[str, str], kind: str, step: str
) -> None:
    wait(lambda: at("message", "trace", kind, "--topic", "WAITS").exit_code == 0)

    (by_key,) = at.rows("message", "trace", kind, "--topic", "WAITS")
    (by_id,) = at.rows("message", "trace", waiting[kind], "--topic", "WAITS")

    assert by_key == by_id
    assert by_key["step"] == step
    assert by_key["detail"].endswith("for WAITS")
