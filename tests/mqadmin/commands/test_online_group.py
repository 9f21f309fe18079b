"""A group with a member: locks, who reads what, and a reset that the member is told of.

The member is a client of our own that answers what a broker asks a consumer.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from mqadmin.session.link import ServerLink
from mqadmin.shell.server import ServerAddresses
from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from remoting.bodies import (
    CMResult,
    ConsumeMessageDirectlyResult,
    ConsumerRunningInfo,
    MessageQueue,
    ProcessQueueInfo,
    ResetOffsetBody,
    ResetOffsetBodyForC,
)
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import UnregisterClient
from tests.mqadmin.conftest import Run, cells, rows
from tests.server.broker.desk import heartbeat
from tests.waiting import wait

GROUP, TOPIC, MEMBER = "ONLINE", "ONLINE_TOPIC", "10.0.0.1@member"
QUEUES = [MessageQueue(TOPIC, "broker-a", queue_id) for queue_id in range(2)]
RESET = RequestCode.RESET_CONSUMER_CLIENT_OFFSET
CIRCLE = "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle@1f"


class Member:
    """One consumer: it reads queue 0, has both locked, and remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[Command] = []
        self.listener_says = CMResult.CR_SUCCESS
        self.moves = False
        """Whether it commits the offsets that it is sent to."""
        self.tasks: list[asyncio.Task[None]] = []
        self.client: MQClient | None = None

    def answer(self, address: str, request: Command) -> Command | None:
        """Answer what a broker asks a consumer."""
        self.told.append(request)
        if request.code == RESET and self.moves and self.client is not None:
            offsets = ResetOffsetBody.decode(request.body).offset_table
            self.tasks.append(asyncio.ensure_future(self.commit(address, offsets)))
        if request.code == RequestCode.CONSUME_MESSAGE_DIRECTLY:
            said = ConsumeMessageDirectlyResult(consume_result=self.listener_says)
            return request.response(body=said.encode())
        if request.code != RequestCode.GET_CONSUMER_RUNNING_INFO:
            return None
        info = ConsumerRunningInfo(
            properties={"allocateMessageQueueStrategy": CIRCLE},
            mq_table={QUEUES[0]: ProcessQueueInfo(locked=True)},
        )
        return request.response(body=info.encode())

    async def commit(self, broker: str, offsets: dict[MessageQueue, int]) -> None:
        """Commit the offsets, as a consumer does that went there."""
        assert self.client is not None
        for queue, offset in offsets.items():
            await Admin(self.client).update_consumer_offset(broker, GROUP, queue, offset)

    async def join(self, namesrv: str, broker: str) -> MQClient:
        """Say hello to the broker and lock both queues."""
        self.client = client = MQClient(namesrv, on_request=self.answer, timeout_s=60)
        beat = heartbeat(MEMBER, (TOPIC,), group=GROUP)
        await client.call(broker, RequestCode.HEART_BEAT, what="heartbeat", body=beat)
        assert await Admin(client).lock_batch(broker, GROUP, MEMBER, QUEUES) == QUEUES
        return client

    async def leave(self, client: MQClient, broker: str) -> None:
        """Say goodbye: a connection that only closes is missed a moment later."""
        goodbye = UnregisterClient(client_id=MEMBER, consumer_group=GROUP)
        await client.call(broker, RequestCode.UNREGISTER_CLIENT, goodbye, what="goodbye")
        await client.close()

    def reset_told(self) -> Command:
        """Wait for the one reset that the broker sends; it is one-way, so nobody hears its end."""
        found = wait(lambda: [one for one in self.told if one.code == RESET])
        assert len(found) == 1
        return found[0]


@contextmanager
def online(member: Member, servers: ServerAddresses) -> Iterator[Member]:
    link = ServerLink()
    client = link.run_coroutine(lambda: member.join(servers.namesrv, servers.broker))
    yield member
    link.run_coroutine(lambda: member.leave(client, servers.broker))
    link.close()


@pytest.fixture
def member(at: Run, servers: ServerAddresses) -> Iterator[Member]:
    """Return a member that is online while the test runs."""
    at("topic", "create", TOPIC, "-q", "2")
    for number in range(4):
        at("message", "send", TOPIC, f"m{number}", "--queue", str(number % 2))
    at("offset", "reset", GROUP, TOPIC, "--to", "latest", "-y")
    with online(Member(), servers) as made:
        yield made


def test_locks_show_who_holds_which_queue_and_until_when(at: Run, member: Member) -> None:
    made = at.rows("lock", "list", "--group", GROUP)

    assert cells(made, "queue_id", "client_id") == [(0, MEMBER), (1, MEMBER)]
    assert all(r["expires_ms"] - r["locked_ms"] == 60_000 for r in made)
    assert at.rows("lock", "list", "--topic", "OTHER") == []


def test_members_say_what_they_read_and_by_which_strategy(at: Run, member: Member) -> None:
    shown = at.rows("rebalance", "show", GROUP, TOPIC)
    planned = at.rows("rebalance", "plan", GROUP, TOPIC, "--add", "z")

    assert cells(shown, "client_id", "strategy") == [
        (MEMBER, "AVG_BY_CIRCLE"),
        (None, "AVG_BY_CIRCLE"),
    ]
    assert cells(planned, "client_id", "was") == [(MEMBER, MEMBER), ("z", None)]
    lag = at.rows("group", "lag", GROUP, TOPIC)
    assert [row["client_id"] for row in lag] == [MEMBER, None]


def test_a_member_tells_its_inside(at: Run, member: Member) -> None:
    listed = at.rows("group", "running", GROUP)
    alone = at.rows("consumerStatus", "-g", GROUP, "-i", MEMBER, "-s")

    assert cells(listed, "client_id", "queue_count", "locked_count") == [(MEMBER, 1, 1)]
    assert alone[0]["queues"][0]["locked"] is True
    assert alone[0]["properties"] == {"allocateMessageQueueStrategy": CIRCLE}
    assert at("group", "running", GROUP, "--client", "another").exit_code == 3


def test_stacks_that_a_member_does_not_give_are_named(at: Run, member: Member) -> None:
    done = at("group", "running", GROUP, "--jstack")

    assert done.exit_code == 0
    assert f"{MEMBER} gave no stacks" in done.err


def test_lag_ends_with_a_total_and_all_groups_have_one_row_each(at: Run, member: Member) -> None:
    one, table = at("group", "lag", GROUP, "-ojson"), at("group", "lag", GROUP)
    words = ("group", "lag", "--all", "--sort", "members", "--columns")
    totals = at.rows(*words, "group,members,topics,queues,lag,wrong")
    totals = [row for row in totals if row["group"] == GROUP]

    waiting = sum(row["lag"] for row in one.rows)
    total = table.out.splitlines()[-1]
    assert total.startswith(f"{GROUP}: lag {waiting} over {len(one.rows)} queues, ")
    assert cells(totals, "members", "topics", "queues", "lag", "wrong") == [
        (1, 1, len(one.rows), waiting, "")
    ]


def test_a_group_is_shown_with_members_and_subscriptions(at: Run, member: Member) -> None:
    made = at.row("consumerConnection", "-g", GROUP)

    assert (made["online"], made["message_model"]) == (True, "CLUSTERING")
    assert made["consume_from_where"] == "CONSUME_FROM_FIRST_OFFSET"
    assert made["connections"][0]["client_id"] == MEMBER
    subscription = {"topic": TOPIC, "expression": "*", "expression_type": "TAG"}
    assert subscription in made["subscriptions"]
    listed = at.rows("group", "list")
    assert [row["members"] for row in listed if row["group"] == GROUP] == [1]


def test_a_reset_online_tells_the_member(at: Run, member: Member) -> None:
    words = ("offset", "reset", GROUP, TOPIC, "--to", "earliest", "-y", "--within", "0")
    done = at(*words, "-ojson")

    assert cells(rows(done), "new_offset", "how") == [(0, "told"), (0, "told")]
    assert "online members were asked to move" in done.err
    assert "sends the members back" in done.err
    pushed = member.reset_told()
    assert ResetOffsetBody.decode(pushed.body).offset_table == dict.fromkeys(QUEUES, 0)


def test_a_member_that_does_not_move_is_named_with_the_next_step(at: Run, member: Member) -> None:
    words = ("offset", "reset", GROUP, TOPIC, "--to", "earliest", "-y", "--within", "300ms")
    done = at(*words, "-ojson")

    made = rows(done, exit_code=1)
    assert cells(made, "changed", "how", "client_id") == [
        (False, "not moved", MEMBER),
        (False, "not moved", None),
    ]
    assert all(row["new_offset"] == row["old_offset"] > 0 for row in made)
    assert f"{MEMBER} did not move within 0.3 s; stop it" in made[0]["remark"]
    assert f"{MEMBER} of group {GROUP}: 0 of 1 queues moved" in done.err


def test_a_member_that_moves_is_seen(at: Run, member: Member, servers: ServerAddresses) -> None:
    member.moves = True

    done = at("offset", "reset", GROUP, TOPIC, "--to", "earliest", "-y", "-ojson")

    assert cells(rows(done), "new_offset", "how", "changed") == [(0, "moved", True)] * 2
    assert f"{MEMBER} of group {GROUP}: 1 of 1 queues moved" in done.err


def test_an_undo_online_sends_the_member_back_and_looks(at: Run, member: Member) -> None:
    member.moves = True
    before = at.rows("offset", "show", GROUP, TOPIC)
    assert at("offset", "reset", GROUP, TOPIC, "--to", "earliest", "-y").exit_code == 0

    done = at("undo", "-y", "--within", "5s", "-ojson")

    assert cells(rows(done), "result") == [("changed",)] * 2
    assert at.rows("offset", "show", GROUP, TOPIC) == before
    assert "undone" in {row["result"] for row in at.rows("undo", "--list")}


def test_an_undo_online_of_a_member_that_stays_is_refused(at: Run, member: Member) -> None:
    at("offset", "reset", GROUP, TOPIC, "--to", "earliest", "-y", "--within", "0")
    member.moves = True
    at("offset", "reset", GROUP, TOPIC, "--to", "earliest", "-y")
    member.moves = False

    done = at("undo", "1", "-y", "--within", "300ms", "-ojson")

    made = rows(done, exit_code=1)
    assert cells(made, "result") == [("refused",)] * 2
    assert "did not move" in made[0]["remark"]
    assert "undone" not in {row["result"] for row in at.rows("undo", "--list")}


def test_a_time_is_shown_in_full_and_one_to_come_is_refused(at: Run, member: Member) -> None:
    words = ("offset", "reset", GROUP, TOPIC, "--dry-run", "--to")

    past, future = at(*words, "-1h"), at(*words, "+1h")

    assert "note: -1h is 20" in past.err
    assert "(1 h ago)" in past.err or "(59 min ago)" in past.err
    assert (past.exit_code, future.exit_code) == (0, 2)
    assert "which is in the future" in future.err


def test_a_reset_online_without_force_moves_nobody_forward(at: Run, member: Member) -> None:
    at("message", "send", TOPIC, "unread")
    words = ("resetOffsetByTime", "-g", GROUP, "-t", TOPIC, "-s", "now", "-f", "false", "-y")

    done = at.rows(*words)

    assert [row["new_offset"] for row in done] == [row["old_offset"] for row in done]
    assert any(row["asked_offset"] > row["old_offset"] for row in done)
    told = ResetOffsetBody.decode(member.reset_told().body).offset_table
    assert told == {queue: row["old_offset"] for queue, row in zip(QUEUES, done, strict=True)}


def test_members_in_another_language_are_told_in_their_own_form(at: Run, member: Member) -> None:
    words = ("resetOffsetByTime", "-g", GROUP, "-t", TOPIC, "-s", "0", "-c", "-y")

    done = at(*words, "--output", "json")

    assert [row["new_offset"] for row in rows(done)] == [0, 0]
    told = ResetOffsetBodyForC.decode(member.reset_told().body).offset_table
    assert [(queue.queue_id, queue.offset) for queue in told] == [(0, 0), (1, 0)]


@pytest.mark.parametrize("name", ["queryMsgById", "queryMsgByUniqueKey"])
def test_a_member_is_handed_a_message(at: Run, member: Member, name: str) -> None:
    sent = at.row("message", "send", TOPIC, "direct")
    of_topic = ("-t", TOPIC) if "Unique" in name else ()
    which = str(sent["unique_key" if of_topic else "msg_id"])
    words = (name, "-i", which, *of_topic, "-g", GROUP, "-d", MEMBER, "--output", "json")

    assert at(*words).exit_code == 2
    done = rows(at(*words, "-y"))
    member.listener_says = CMResult.CR_LATER
    later = at(*words, "-y")

    assert cells(done, "result", "client_id") == [("CR_SUCCESS", MEMBER)]
    assert later.exit_code == 1
    assert later.rows[0]["result"] == "CR_LATER"


def test_a_dry_run_online_tells_nobody(at: Run, member: Member) -> None:
    made = at.rows("offset", "reset", GROUP, TOPIC, "--to", "earliest", "--dry-run")

    assert [row["new_offset"] for row in made] == [0, 0]
    assert all(row["old_offset"] > 0 for row in made)
    assert all(c.code != RESET for c in member.told)


@pytest.mark.parametrize(
    ("words", "warning"),
    [
        (("topic", "delete", TOPIC), f"{TOPIC} is in use: group {GROUP} has 1 member(s) online"),
        (("group", "delete", GROUP), f"1 member(s) of group {GROUP} are online"),
    ],
)
def test_a_dry_run_of_a_delete_warns_of_members_online(
    at: Run, member: Member, words: tuple[str, ...], warning: str
) -> None:
    at(words[0], "create", "NOBODY_READS")

    done = at(*words, "--dry-run", "-ojson")
    unread = at(words[0], "delete", "NOBODY_READS", "--dry-run")

    assert done.exit_code == 0
    assert warning in done.err
    assert {row["result"] for row in rows(done)} == {"would change"}
    assert (unread.exit_code, "online" in unread.err) == (0, False)


@pytest.mark.parametrize(
    "words", [("--to", "+1"), ("--to", "0"), ("--to", "latest", "--queue", "0")]
)
def test_what_a_broker_cannot_tell_members_is_refused(
    at: Run, member: Member, words: tuple[str, ...]
) -> None:
    done = at("offset", "reset", GROUP, TOPIC, *words, "-y")

    assert done.exit_code == 1
    assert "members online" in done.err


def test_messages_wait_for_a_group_that_has_committed_nothing(
    at: Run, servers: ServerAddresses
) -> None:
    topic, group = "NEW_TOPIC", "NEW_GROUP"
    at("topic", "create", topic, "-q", "1")
    at("group", "create", group)
    for number in range(3):
        at("message", "send", topic, f"m{number}")
    # Brokers list only groups that have an offset somewhere.
    at("topic", "create", "OTHER_TOPIC", "-q", "1")
    at("offset", "reset", group, "OTHER_TOPIC", "--to", "earliest", "-y")
    link = ServerLink()

    async def come() -> MQClient:
        client = MQClient(servers.namesrv, timeout_s=60)
        beat = heartbeat("10.0.0.1@new", (topic,), group=group)
        await client.call(servers.broker, RequestCode.HEART_BEAT, what="heartbeat", body=beat)
        return client

    client = link.run_coroutine(come)
    try:
        lag = at.rows("group", "lag", group, topic, "--no-clients")
        check = at.row("assert", "lag", group, exit_code=1)
        top = at.rows("top", "--once")
        scraped = at.rows("exporter", "--once")
    finally:
        link.run_coroutine(client.close)
        link.close()

    assert [(row["lag"], row["standing"]) for row in lag] == [(3, "behind")]
    assert (check["holds"], check["found"]) == (False, "3")
    assert [row["lag"] for row in top if row["name"] == group] == [3]
    assert [
        row["value"]
        for row in scraped
        if row["metric"] == "rocketmq_group_diff" and topic in str(row["labels"])
    ] == [3]
