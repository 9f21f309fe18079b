"""Locks that count down, assignments that change, lag that drains: with live consumers."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mqadmin.cluster.assignment import GroupAssignment
from mqadmin.commands.lock import LockRow, with_assignment
from mqadmin.session.call import Workplace
from mqadmin.session.link import ServerLink
from mqadmin.shell.server import ServerAddresses
from mqclient.client.client_settings import ClientSettings
from mqclient.client.instance import MQClient
from mqclient.consumer.consumer_settings import PushSettings, Strategy
from mqclient.consumer.listener.listeners import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus
from mqclient.consumer.push_consumer import PushConsumer
from remoting.bodies import ConsumeFromWhere, MessageQueue
from tests.mqadmin.conftest import Row, Run, cells, run_words
from tests.waiting import wait

FIRST = PushSettings(consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)


class Members:
    """Live consumers that come and go."""

    def __init__(self, namesrv: str) -> None:
        self._namesrv = namesrv
        self._link = ServerLink()
        self._here: dict[str, tuple[MQClient, PushConsumer]] = {}

    def join(self, name: str, group: str, topic: str, *, orderly: bool = False) -> str:
        """Start a member and return its client id, which ends in ``@name``."""
        self._here[name] = self._link.run_coroutine(lambda: self._join(name, group, topic, orderly))
        return self._here[name][0].client_id

    async def _join(
        self, name: str, group: str, topic: str, orderly: bool
    ) -> tuple[MQClient, PushConsumer]:
        client = MQClient(self._namesrv, settings=ClientSettings(instance_name=name), timeout_s=60)
        await client.__aenter__()
        consumer = PushConsumer(client, group, FIRST)
        consumer.subscribe(topic)

        async def in_order(*_: object) -> ConsumeOrderlyStatus:
            return ConsumeOrderlyStatus.SUCCESS

        async def at_once(*_: object) -> ConsumeConcurrentlyStatus:
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        if orderly:
            consumer.orderly(in_order)
        else:
            consumer.concurrently(at_once)
        await consumer.start()
        return client, consumer

    def leave(self, name: str) -> None:
        """Stop a member."""
        client, consumer = self._here.pop(name)
        self._link.run_coroutine(consumer.shutdown)
        self._link.run_coroutine(client.close)

    def all_leave(self) -> None:
        """Stop everything."""
        for name in list(self._here):
            self.leave(name)
        self._link.close()


@pytest.fixture
def members(servers: ServerAddresses) -> Iterator[Members]:
    made = Members(servers.namesrv)
    yield made
    made.all_leave()


@contextmanager
def live(
    env: dict[str, str], servers: ServerAddresses, *words: str, after: list[Callable[[], object]]
) -> Iterator[list[str]]:
    """Run ``words`` with ``--watch``; between ticks do what ``after`` says, then Ctrl-C."""
    steps = iter(after)

    def pause(_: float) -> None:
        step = next(steps, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    workplace = Workplace(pause=pause)
    done = run_words([*words, "--watch", "1", "-n", servers.namesrv], env, workplace)
    workplace.link.close()
    assert done.exit_code == 130, done.err
    yield done.out.split("\n\n")


def until(at: Run, *words: str, holds: Callable[[list[Row]], bool]) -> Any:
    """Ask again until it holds."""
    return wait(lambda: at.rows(*words), holds)


def reads_all(at: Run, group: str, topic: str, member: str) -> None:
    """Wait until a member reads every queue of the topic."""
    words = ("rebalance", "show", group, topic)
    until(at, *words, holds=lambda made: {row["client_id"] for row in made} == {member})


def test_locks_of_a_group_that_is_not_there_are_not_found(at: Run) -> None:
    done = at("lock", "list", "--group", "NO_GROUP")

    assert (done.exit_code, done.out) == (3, "")


def test_locks_count_down_and_show_who_waits(at: Run, members: Members) -> None:
    at("topic", "create", "LOCKED", "-q", "2")
    first = members.join("a", "LOCKERS", "LOCKED", orderly=True)
    words = ("lock", "list", "-g", "LOCKERS", "--topic", "LOCKED")
    held = until(at, *words, holds=lambda made: cells(made, "client_id") == [(first,)] * 2)
    assert all(0 < row["left_ms"] <= 60_000 and row["waiting"] == [] for row in held)

    # The second member may have one queue; the first gives it up at its next rebalance only.
    other = members.join("b", "LOCKERS", "LOCKED", orderly=True)
    found = until(
        at,
        *words,
        holds=lambda made: any(other in {row["client_id"], *row["waiting"]} for row in made),
    )

    second = next(row for row in found if row["queue_id"] == 1)
    assert other in {second["client_id"], *second["waiting"]}
    assert at.rows(*words, "--no-waiting")[0]["waiting"] == []


def test_the_waiting_member_of_a_held_queue_is_named() -> None:
    queues = [MessageQueue("T", "b", queue_id) for queue_id in range(3)]
    now = GroupAssignment(
        queues,
        ["a", "z"],
        {queues[0]: "a"},
        Strategy.AVG,
        False,
        {queues[0]: "z", queues[1]: "z", queues[2]: "a"},
        True,
    )
    row = LockRow("g", "T", "b", 0, "a", 5, 10, 5, (), True)

    made = with_assignment([row], "g", now=now, exact=True)

    assert [(one.queue_id, one.client_id, one.waiting) for one in made] == [
        (0, "a", ("z",)),
        (1, None, ("z",)),
        (2, None, ("a",)),
    ]


def test_a_plan_is_drawn_before_and_after(at: Run, members: Members) -> None:
    at("topic", "create", "PLANNED", "-q", "4")
    first = members.join("a", "PLANNERS", "PLANNED")
    reads_all(at, "PLANNERS", "PLANNED", first)

    shown = at("rebalance", "show", "PLANNERS", "PLANNED")
    planned = at("rebalance", "plan", "PLANNERS", "PLANNED", "--add", "zz")
    made = at.rows("rebalance", "plan", "PLANNERS", "PLANNED", "--add", "zz")

    assert "now (AVG): 1 member reads 4 of 4 queues, 4 each" in shown.out
    assert "then (AVG): 2 members read 4 of 4 queues, 2 each; 2 move" in planned.out
    assert "· · + +  2" in planned.out
    assert [row["moves"] for row in made] == [False, False, True, True]
    alone = at("rebalance", "plan", "PLANNERS", "PLANNED", "--add", "x", "--no-picture")
    assert "then" not in alone.out


def test_changes_are_told_until_the_time_is_over(at: Run, members: Members) -> None:
    for topic, count in (("WATCHED", "2"), ("WATCHED_TOO", "1")):
        at("topic", "create", topic, "-q", count)
        at("offset", "reset", "WATCHERS", topic, "--to", "earliest", "-y")
    first = members.join("a", "WATCHERS", "WATCHED")
    reads_all(at, "WATCHERS", "WATCHED", first)
    shortly = ("--interval", "0.1", "--for", "200ms")

    told = at.rows("rebalance", "watch", "WATCHERS", "WATCHED", *shortly)

    assert cells(told, "what", "queue_id", "client_id") == [
        ("joined", None, first),
        ("taken", 0, first),
        ("taken", 1, first),
    ]
    # The group alone is all topics that it has an offset in.
    alone = at.rows("rebalance", "watch", "WATCHERS", *shortly)
    assert cells(alone, "what", "topic")[:4] == [
        ("joined", "WATCHED"),
        ("taken", "WATCHED"),
        ("taken", "WATCHED"),
        ("joined", "WATCHED_TOO"),
    ]
    assert at("rebalance", "watch", "NOBODY", "WATCHED").exit_code == 3
    assert at("rebalance", "watch", "WATCHERS", "NO_TOPIC").exit_code == 3


def test_lag_has_rates_while_it_is_watched(
    at: Run, env: dict[str, str], servers: ServerAddresses
) -> None:
    at("topic", "create", "DRAINED", "-q", "1")
    for number in range(4):
        at("message", "send", "DRAINED", f"m{number}")
    at("offset", "reset", "DRAINERS", "DRAINED", "--to", "0", "-y")

    def read_on(offset: str) -> Callable[[], object]:
        return lambda: at("offset", "reset", "DRAINERS", "DRAINED", "--to", offset, "-y")

    words = ("group", "lag", "DRAINERS", "-ojsonl")
    with live(env, servers, *words, after=[read_on("2"), read_on("4")]) as blocks:
        ticks = [json.loads(line) for line in blocks[0].splitlines()]

    assert [row["lag"] for row in ticks] == [4, 2, 0]
    assert [row["lags"] for row in ticks] == [[4], [4, 2], [4, 2, 0]]
    assert ticks[0]["rate"] is None
    assert ticks[1]["rate"] > 0
    assert ticks[1]["lag_rate"] < 0
    assert ticks[2]["drain_s"] == 0
    assert "rate" not in at.row("group", "lag", "DRAINERS")


def test_the_table_of_lag_has_a_sparkline_and_a_summary(
    at: Run, env: dict[str, str], servers: ServerAddresses
) -> None:
    at("topic", "create", "SPARKED", "-q", "1")
    at("message", "send", "SPARKED", "m")
    at("offset", "reset", "SPARKERS", "SPARKED", "--to", "0", "-y")

    with live(env, servers, "group", "lag", "SPARKERS", after=[lambda: None]) as blocks:
        first, second = blocks[:2]

    assert "SPARKLINE" in first
    assert "█" in first
    assert "SPARKERS: lag 1" in first
    assert "SPARKERS: lag 1, reads 0/s, lag +0/s, not draining" in second
