"""Each check of the doctor on made-up facts; name servers compared."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from mqadmin.cluster.brokers import ServerNode
from mqadmin.health.checkup import (
    BrokerFacts,
    CheckupFinding,
    CheckupLimits,
    backlog_findings,
    broker_findings,
    queue_findings,
    route_findings,
    skew_of,
    slave_lag,
    subscription_findings,
)
from mqadmin.health.checkup_namesrv import NamesrvView, namesrv_findings, queues_of
from remoting.bodies import MessageQueue, QueueData, TopicRouteData
from storefmt.config.tables import TopicConfig

LIMITS = CheckupLimits(slave_lag_size=100, skew_ms=5000)
NOW_MS = 1_000_000_000
UP = "[ 0 days, 0 hours, 1 minutes, 40 seconds ]"


def broker(
    *, broker_id: int = 0, boot_ms: int = NOW_MS - 100_000, error: str | None = None, **runtime: str
) -> BrokerFacts:
    """Return a broker that has been up for 100 s and is well unless said otherwise."""
    place = ServerNode("c", "broker-a", broker_id, f"10.0.0.{broker_id}:10911")
    said = {"bootTimestamp": str(boot_ms), "runtime": UP} | runtime
    return BrokerFacts(place, {} if error else said, NOW_MS, NOW_MS + 20, error)


def elsewhere(**runtime: str) -> BrokerFacts:
    """Return another broker of the same name and number."""
    place = ServerNode("c", "broker-a", 0, "10.0.0.9:10911")
    return replace(broker(**runtime), place=place)


def brief(found: Iterable[CheckupFinding]) -> list[tuple[str, str]]:
    return [(one.severity.value, one.check.value) for one in found]


def checked(*brokers: BrokerFacts) -> list[tuple[str, str]]:
    """Return severity and check of what is found of these brokers."""
    return brief(broker_findings(brokers, LIMITS))


def test_a_healthy_broker_has_no_finding() -> None:
    assert checked(broker(commitLogDiskRatio="0.42")) == []


@pytest.mark.parametrize(
    ("ratio", "found"),
    [
        ("0.74", []),
        ("0.75", [("warning", "disk")]),
        ("0.90", [("error", "disk")]),
        ("NaN", []),
        ("?", []),
    ],
)
def test_disks(ratio: str, found: list[tuple[str, str]]) -> None:
    assert checked(broker(commitLogDiskRatio=ratio)) == found


@pytest.mark.parametrize(
    ("ahead_ms", "skew_ms"), [(0, 0), (-900, 0), (-10_000, -9000), (10_000, 9980), (15, 0)]
)
def test_clocks(ahead_ms: int, skew_ms: int) -> None:
    one = broker(boot_ms=NOW_MS - 100_000 + ahead_ms)

    assert skew_of(one) == skew_ms
    assert checked(one) == ([("warning", "clock")] if abs(skew_ms) > 5000 else [])


def test_a_clock_that_nobody_tells_is_no_finding() -> None:
    assert skew_of(broker(runtime="a while")) is None


def test_slaves_and_masters() -> None:
    master = broker(commitLogMaxOffset="1000")
    near, far = (broker(broker_id=1, commitLogMaxOffset=at) for at in ("900", "899"))

    assert slave_lag(master, near) == 100
    assert slave_lag(master, broker(broker_id=1)) is None
    assert checked(master, near) == []
    assert checked(master, far) == [("warning", "slave")]
    assert checked(near) == [("error", "master")]
    other = broker(broker_id=1, commitLogMaxOffset="1000", haState="DIVERGED")
    assert checked(master, other) == [("error", "slave")]


def test_an_address_that_does_not_answer() -> None:
    found = list(broker_findings([broker(error="no answer in 5 s")], LIMITS))

    assert brief(found) == [("error", "address")]
    assert "brokerIP1" in found[0].hint


def route(**more: int) -> TopicRouteData:
    numbers = {"read_queue_nums": 4, "write_queue_nums": 4, "perm": 6} | more
    return TopicRouteData(queue_datas=[QueueData(broker_name="broker-a", **numbers)])


def test_routes() -> None:
    held = {"broker-a": TopicConfig("T", 4, 4)}

    def check(
        configs: dict[str, TopicConfig], told: TopicRouteData | None, asked: str = "broker-a"
    ) -> list[tuple[str, str]]:
        found = list(route_findings("T", configs, route=told, asked=[asked]))
        return [(one.severity.value, one.found) for one in found]

    assert check(held, route()) == []
    assert check(held, None) == [("error", "the broker has it, but the name server does not")]
    assert check(held, route(write_queue_nums=2, perm=4)) == [
        ("warning", "write queues: 2 in the route, 4 on the broker"),
        ("warning", "permission: R-- in the route, RW- on the broker"),
    ]
    assert check({}, route()) == [("warning", "the name server has it, but the broker does not")]
    assert check({}, route(), asked="another") == []


def test_members_that_want_different_things() -> None:
    alike = {"a": {"T": "*"}, "b": {"T": "*"}}
    other = {"a": {"T": "*"}, "b": {"T": "x"}, "c": {}}

    assert list(subscription_findings("g", alike)) == []
    found = list(subscription_findings("g", other))
    assert brief(found) == [("error", "subscription")]
    assert found[0].found == "a wants *; b wants x; c wants nothing"


def test_queues_that_nobody_reads() -> None:
    queues = [MessageQueue("T", "broker-a", queue_id) for queue_id in range(12)]

    assert list(queue_findings("g", "T", queues, read=queues)) == []
    found = list(queue_findings("g", "T", queues, read=queues[:1]))
    assert brief(found) == [("warning", "queue")]
    assert found[0].found.endswith("broker-a:8 and 3 more")


def test_messages_that_wait() -> None:
    waiting = {"T": 11, "U": 10}

    found = list(backlog_findings("g", waiting, limit=10))

    assert brief(found) == [("warning", "backlog")]
    assert (found[0].subject, found[0].found) == ("group g, topic T", "11 messages are waiting")


def test_master_that_was_replaced_is_named_with_what_to_do() -> None:
    old = elsewhere(haFence="this broker is no longer the master of broker-a")

    for order in ([broker(), old], [old, broker()]):
        (found,) = broker_findings(order, LIMITS)
        assert brief([found]) == [("error", "master")]
        assert "10.0.0.9:10911" in found.subject
        assert "no longer the master" in found.found
        assert "broker demote 10.0.0.9:10911" in found.hint


def test_second_master_that_takes_messages_is_named() -> None:
    second = elsewhere()

    (found,) = broker_findings([broker(), second], LIMITS)

    assert brief([found]) == [("error", "master")]
    assert found.subject == "broker-a at 10.0.0.9:10911"
    assert "second master with this name, beside 10.0.0.0:10911" in found.found


def test_slave_is_held_against_the_master_that_leads() -> None:
    old = elsewhere(haFence="replaced", commitLogMaxOffset="900")
    leads = broker(commitLogMaxOffset="500")
    slave = broker(broker_id=1, commitLogMaxOffset="490")

    assert checked(old, leads, slave) == [("error", "master")]


A, B = (ServerNode("c", f"broker-{name}", 0, f"10.0.0.{name}:10911") for name in "ab")
BOTH = frozenset({A, B})


def told(*views: NamesrvView) -> list[tuple[str, str, str]]:
    return [(one.severity.value, one.subject, one.found) for one in namesrv_findings(views)]


def test_name_servers_that_tell_the_same_are_no_finding() -> None:
    routes = {"T": {"broker-a": (4, 4, 6)}}

    assert told(NamesrvView("n1", BOTH, routes), NamesrvView("n2", BOTH, routes)) == []


def test_a_broker_that_is_registered_at_only_some() -> None:
    routes = {"T": {"broker-a": (4, 4, 6), "broker-b": (4, 4, 6)}}
    less = {"T": {"broker-a": (4, 4, 6)}}
    three = (
        NamesrvView("n1", BOTH, routes),
        NamesrvView("n2", frozenset({A}), less),
        NamesrvView("n3", BOTH, routes),
    )

    assert told(*three) == [
        ("error", "broker-b (0) at 10.0.0.b:10911", "registered at n1, n3, but not at n2")
    ]


def test_routes_that_differ() -> None:
    one = NamesrvView("n1", BOTH, {"T": {"broker-a": (4, 4, 6)}, "U": {"broker-a": (1, 1, 6)}})
    other = NamesrvView("n2", BOTH, {"T": {"broker-a": (4, 2, 4)}})

    assert told(one, other) == [
        (
            "warning",
            "topic T on broker-a",
            "n1 has 4 read and 4 write queues, RW-, n2 has 4 read and 2 write queues, R--",
        ),
        ("warning", "topic U on broker-a", "n1 has 1 read and 1 write queues, RW-, n2 has nothing"),
    ]


def test_a_name_server_that_does_not_answer() -> None:
    silent = NamesrvView("n2", error="cannot connect")

    assert told(NamesrvView("n1", BOTH), silent) == [("error", "name server n2", "cannot connect")]
    assert told(silent) == [("error", "name server n2", "cannot connect")]


def test_queues_of_a_route() -> None:
    data = QueueData(broker_name="broker-a", read_queue_nums=4, write_queue_nums=2, perm=6)

    assert queues_of(TopicRouteData(queue_datas=[data])) == {"broker-a": (4, 2, 6)}
