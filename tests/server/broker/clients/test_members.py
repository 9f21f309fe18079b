"""Group members with a clock moved by hand."""

from mqserver.broker.clients.members import SILENCE_MS_MAX, Consumers, GroupMember, Producers
from remoting.bodies import ConsumerData, SubscriptionData
from tests.server.doubles import FakeConn


def member(conn: FakeConn, client_id: str = "c1", *, seen_ms: int = 0) -> GroupMember:
    return GroupMember(conn, client_id, 0, 407, seen_ms)  # type: ignore[arg-type]


def data(*topics: str, version: int = 1, expression: str = "*") -> ConsumerData:
    return ConsumerData(
        group_name="G",
        subscription_data_set=[
            SubscriptionData(topic=topic, sub_string=expression, sub_version=version)
            for topic in topics
        ],
    )


def test_newcomer_and_changed_topics_are_changes_a_repeated_heartbeat_is_none() -> None:
    consumers, conn = Consumers(), FakeConn()

    changes = [
        consumers.register(data("T"), member=member(conn)),
        consumers.register(data("T"), member=member(conn)),
        consumers.register(data("T", version=2, expression="A"), member=member(conn)),
        consumers.register(data("T", "U"), member=member(conn)),
        consumers.register(data("U"), member=member(conn)),
        consumers.register(data("U"), member=member(FakeConn(2), "c2")),
    ]

    assert changes == [True, False, False, True, True, True]
    group = consumers.group("G")
    assert group.client_ids() == ["c1", "c2"]
    assert list(group.subscriptions) == ["U"]


def test_newest_version_of_a_subscription_counts() -> None:
    consumers, conn = Consumers(), FakeConn()
    consumers.register(data("T", version=5, expression="new"), member=member(conn))

    consumers.register(data("T", version=4, expression="old"), member=member(conn))

    assert consumers.subscription("G", "T").sub_string == "new"
    assert consumers.subscription("G", "U") is None
    assert consumers.subscription("none", "T") is None


def test_group_without_members_is_gone() -> None:
    consumers, first, second = Consumers(), FakeConn(1), FakeConn(2)
    consumers.register(data("T"), member=member(first))
    consumers.register(data("T"), member=member(second, "c2"))

    left = consumers.unregister("G", first)  # type: ignore[arg-type]
    again = consumers.unregister("G", first)  # type: ignore[arg-type]
    dropped = consumers.drop(second)  # type: ignore[arg-type]

    assert (left, again, dropped) == (True, False, ["G"])
    assert consumers.group("G") is None
    assert consumers.groups_on("T") == []


def test_client_with_another_id_on_a_known_connection_replaces_it() -> None:
    consumers, conn = Consumers(), FakeConn()
    consumers.register(data("T"), member=member(conn, "old"))

    consumers.register(data("T"), member=member(conn, "new"))

    group = consumers.group("G")
    assert group.client_ids() == ["new"]
    assert group.find("old") is None


def test_silent_members_are_those_past_the_limit() -> None:
    consumers, producers = Consumers(), Producers()
    quiet, lively = FakeConn(1), FakeConn(2)
    consumers.register(data("T"), member=member(quiet, seen_ms=0))
    producers.register("P", member=member(quiet, seen_ms=0))
    consumers.register(data("T"), member=member(lively, "c2", seen_ms=0))
    consumers.register(data("T"), member=member(lively, "c2", seen_ms=SILENCE_MS_MAX))

    assert consumers.silent(SILENCE_MS_MAX) == []
    assert consumers.silent(SILENCE_MS_MAX + 1) == [quiet]
    assert producers.silent(SILENCE_MS_MAX + 1) == [quiet]


def test_producers_come_renew_and_go() -> None:
    producers, conn = Producers(), FakeConn()
    producers.register("P", member=member(conn, seen_ms=1))
    producers.register("P", member=member(conn, seen_ms=9))

    found = producers.members("P")
    producers.drop(conn)  # type: ignore[arg-type]
    producers.unregister("P", conn)  # type: ignore[arg-type]

    assert [one.seen_ms for one in found] == [9]
    assert producers.members("P") is None
    assert dict(producers.groups()) == {}
