"""Routes: queues to send to, queues to read, addresses, and how long they are used."""

import pytest

from mqclient.client.routes import (
    QUIET_MS,
    ROUTE_LIFE_MS,
    RouteCache,
    consumer_queues,
    leader_of,
    masters,
    publish_info,
    publish_queues,
    reader,
    readers,
    subscribe_queues,
    template_queues,
)
from mqclient.errors import BadAnswer
from remoting.bodies import (
    BrokerData,
    MessageQueue,
    QueueData,
    TopicQueueMappingInfo,
    TopicRouteData,
)


def route_of(*brokers: tuple[str, int, int, int, dict[int, str]]) -> TopicRouteData:
    return TopicRouteData(
        queue_datas=[
            QueueData(broker_name=name, read_queue_nums=read, write_queue_nums=write, perm=perm)
            for name, read, write, perm, _ in brokers
        ],
        broker_datas=[
            BrokerData(broker_name=name, broker_addrs=addresses)
            for name, _, _, _, addresses in brokers
        ],
    )


MIXED = route_of(
    ("b", 1, 2, 6, {0: "b:1"}),
    ("a", 2, 1, 6, {0: "a:1", 1: "a:2"}),
    ("readonly", 1, 1, 4, {0: "r:1"}),
    ("slave-only", 1, 1, 6, {2: "s:3", 1: "s:2"}),
    ("write-only", 1, 1, 2, {0: "w:1"}),
)


def names(queues: list[MessageQueue]) -> list[tuple[str, int]]:
    return [(queue.broker_name, queue.queue_id) for queue in queues]


def test_send_goes_to_writable_queues_with_a_master() -> None:
    assert names(publish_queues("T", MIXED)) == [("a", 0), ("b", 0), ("b", 1), ("write-only", 0)]


def test_read_comes_from_readable_queues() -> None:
    assert names(subscribe_queues("T", MIXED)) == [
        ("a", 0), ("a", 1), ("b", 0), ("readonly", 0), ("slave-only", 0),
    ]  # fmt: skip


def test_addresses_are_the_masters_or_else_the_first_slave() -> None:
    assert masters(MIXED) == {"b": "b:1", "a": "a:1", "readonly": "r:1", "write-only": "w:1"}
    assert readers(MIXED)["slave-only"] == "s:2"


def test_missing_topic_gets_four_queues_of_the_template_at_most() -> None:
    template = route_of(("a", 8, 8, 7, {0: "a:1"}), ("b", 2, 2, 7, {0: "b:1"}))

    assert names(template_queues("T", template)) == [
        ("a", 0), ("a", 1), ("a", 2), ("a", 3), ("b", 0), ("b", 1),
    ]  # fmt: skip


def test_ordered_topic_has_the_queues_of_its_configuration() -> None:
    ordered = TopicRouteData(order_topic_conf="b:2;away:1")

    assert names(publish_queues("T", ordered)) == [("b", 0), ("b", 1), ("away", 0)]


def static_route(*mappings: tuple[str, int, dict[int, int]]) -> TopicRouteData:
    """Return the route of a static topic of three logical queues.

    Args:
        mappings: broker, epoch, and which logical queues it leads in which of its own.
    """
    route = route_of(("a", 2, 2, 6, {0: "a:1", 1: "a:2"}), ("b", 1, 1, 6, {0: "b:1"}))
    route.topic_queue_mapping_by_broker = {
        name: TopicQueueMappingInfo(
            topic="T", bname=name, total_queues=3, epoch=epoch, curr_id_map=queues
        )
        for name, epoch, queues in mappings
    }
    return route


def logical(queue_id: int) -> MessageQueue:
    return MessageQueue("T", "__syslo__global__", queue_id)


def test_a_static_topic_has_its_logical_queues_for_both_sides() -> None:
    route = static_route(("a", 1, {0: 0, 2: 1}), ("b", 1, {1: 0}))

    assert consumer_queues("T", route) == [logical(0), logical(1), logical(2)]
    info = publish_info("T", route)
    assert info.queues == consumer_queues("T", route)
    assert [info.address_of(queue) for queue in info.queues] == ["a:1", "b:1", "a:1"]
    assert reader(route, logical(1), broker_id=0) == ("b:1", True)
    assert reader(route, logical(2), broker_id=1) == ("a:2", False)
    assert consumer_queues("T", MIXED) == subscribe_queues("T", MIXED)


def test_the_newest_mapping_says_who_leads_a_logical_queue() -> None:
    route = static_route(("a", 1, {0: 0, 1: 1}), ("b", 2, {1: 0}))

    assert [leader_of(route, logical(queue_id)) for queue_id in range(3)] == [
        "a",
        "b",
        "__syslo__global__",
    ]
    assert publish_info("T", route).address_of(logical(2)) is None
    assert reader(route, logical(2), broker_id=0) is None
    assert leader_of(route, MessageQueue("T", "a", 1)) == "a"


@pytest.mark.parametrize("conf", ["b", "b:x", "b:1;c"])
def test_broken_order_configuration_is_named(conf: str) -> None:
    with pytest.raises(BadAnswer, match="order configuration of topic T"):
        publish_queues("T", TopicRouteData(order_topic_conf=conf))


def test_route_is_good_for_its_life_and_stays_until_dropped() -> None:
    cache = RouteCache()
    cache.store_route("T", MIXED, now_ms=0)

    assert cache.get("T", now_ms=ROUTE_LIFE_MS - 1) is MIXED
    assert cache.get("T", now_ms=ROUTE_LIFE_MS) is None
    assert cache.last("T") is MIXED
    assert not cache.is_doubtful("T", now_ms=2 * ROUTE_LIFE_MS - 1)
    assert cache.is_doubtful("T", now_ms=2 * ROUTE_LIFE_MS)
    cache.asked("T", now_ms=2 * ROUTE_LIFE_MS)
    assert cache.get("T", now_ms=2 * ROUTE_LIFE_MS) is MIXED
    cache.drop("T")
    assert cache.get("T", now_ms=2 * ROUTE_LIFE_MS) is cache.last("T") is None


def test_doubted_route_is_asked_for_at_once_and_stays() -> None:
    cache = RouteCache()
    cache.doubt("T")
    assert cache.last("T") is None
    cache.store_route("T", MIXED, now_ms=0)
    cache.doubt("T")

    assert cache.get("T", now_ms=0) is None
    assert cache.is_doubtful("T", now_ms=0)
    assert cache.last("T") is MIXED


def test_failed_question_is_worth_a_word_now_and_then() -> None:
    cache = RouteCache()
    cache.store_route("T", MIXED, now_ms=0)

    assert [cache.failed("T", now_ms=at) for at in (0, 1, QUIET_MS - 1, QUIET_MS)] == [
        True, False, False, True,
    ]  # fmt: skip
    assert not cache.failed("Other", now_ms=0)
