"""What a topic decides for a send."""

from typing import cast

import pytest

from mqserver.broker.send.topic_rules import Routes, choose_queue, topic_text
from mqserver.broker.topics import Topics, topic_config
from mqserver.runtime.request import RequestRefused
from remoting.aio.server import ServerConn
from tests.server.broker.contexts import context_of
from tests.server.broker.desk import send
from tests.server.doubles import FakeConn

CONN = cast(ServerConn, FakeConn())


def routes(permission: int = 6) -> tuple[Routes, Topics]:
    context = context_of(object())
    context.config.broker_permission = permission
    return Routes(context, refusal=lambda: ""), context.topics


def test_route_is_kept_until_it_is_forgotten() -> None:
    known, topics = routes()
    topics.put(topic_config("T", queue_count=2), now_ms=2)
    topics.saved(topics.change_count)

    route = known.make(CONN, send(), 3)
    kept = known.get("T")
    known.forget()

    assert kept is route
    assert (route.queue_limit, route.retry_group, route.topic_bytes) == (2, None, b"T")
    assert known.get("T") is None


def test_unit_mode_marks_the_topic_it_makes() -> None:
    known, topics = routes()

    known.make(CONN, send(topic="A", unit_mode=True), 2)
    known.make(CONN, send(topic="%RETRY%G", unit_mode=True, default_topic="none"), 3)

    assert [one.topic_sys_flag for one in map(topics.get, ("A", "%RETRY%G")) if one] == [1, 2]


def test_broker_without_write_permission_refuses_ordered_topics_only() -> None:
    known, topics = routes(permission=4)
    topics.put(topic_config("Orders", queue_count=1), now_ms=2)
    topics.put(topic_config("T", queue_count=1), now_ms=2)
    topics.set_ordered(["Orders"], now_ms=3)

    known.make(CONN, send(), 4)
    with pytest.raises(RequestRefused, match="sending message is forbidden") as refused:
        known.make(CONN, send(topic="Orders"), 4)

    assert refused.value.code == 16


def test_topic_without_write_queues_has_none_to_choose() -> None:
    known, topics = routes()
    topics.put(topic_config("T", queue_count=0), now_ms=2)
    route = known.make(CONN, send(), 3)

    with pytest.raises(RequestRefused, match="no write queue"):
        choose_queue(CONN, -1, route)
    with pytest.raises(RequestRefused, match=r"queueId\[0\] is illegal"):
        choose_queue(CONN, 0, route)


def test_topic_is_printed_as_java_prints_it() -> None:
    assert topic_text(topic_config("HFCT_T1", queue_count=2)) == (
        "TopicConfig [topicName=HFCT_T1, readQueueNums=2, writeQueueNums=2, perm=RW-, "
        "topicFilterType=SINGLE_TAG, topicSysFlag=0, order=false]"
    )
