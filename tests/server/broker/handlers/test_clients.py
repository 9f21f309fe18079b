"""Members of groups over the wire: heartbeats, lists and unregistering."""

from pathlib import Path

import pytest

from mqserver.broker.clients.members import SUBSCRIPTION_SIZE
from mqserver.broker.handlers.clients import SUBSCRIPTIONS_MAX
from remoting.aio.client import RemotingClient
from remoting.bodies import (
    CheckClientRequestBody,
    ConsumerConnection,
    GetConsumerListByGroupResponseBody,
    ProducerConnection,
    ProducerTableInfo,
    SubscriptionData,
)
from remoting.codes import LanguageCode, RequestCode
from remoting.command import Command
from remoting.headers import (
    GetAllProducerInfo,
    GetConsumerConnectionList,
    GetConsumerListByGroup,
    GetProducerConnectionList,
    UnregisterClient,
)
from storefmt.config.tables import SubscriptionGroup
from tests.server.broker.desk import GROUP, TOPIC, Desk, heartbeat, running
from tests.waiting import until


async def members(desk: Desk) -> list[str]:
    answer = await desk.ask(
        RequestCode.GET_CONSUMER_LIST_BY_GROUP, GetConsumerListByGroup(consumer_group=GROUP)
    )
    if answer.code != 0:
        return [answer.remark or ""]
    return GetConsumerListByGroupResponseBody.decode(answer.body).consumer_id_list


async def test_heartbeat_makes_a_member_its_retry_topic_and_tells_the_newcomer(desk: Desk) -> None:
    await desk.heartbeat()
    await desk.heartbeat()

    assert desk.app.broker.topics.get("%RETRY%G") is not None
    assert await members(desk) == ["c1"]
    (pushed,) = desk.pushed
    assert (pushed.code, pushed.ext, pushed.is_oneway) == (40, {"consumerGroup": GROUP}, True)


async def test_every_member_is_told_when_one_comes_and_goes(desk: Desk) -> None:
    told: list[int] = []
    other = RemotingClient(on_request=lambda _, command: told.append(command.code))
    await desk.heartbeat()
    join = Command.request(RequestCode.HEART_BEAT, body=heartbeat("c2"))
    await other.invoke(desk.address, join)
    both = await members(desk)
    at_join = len(desk.pushed)
    goodbye = Command.request(
        RequestCode.UNREGISTER_CLIENT,
        UnregisterClient(client_id="c2", consumer_group=GROUP, producer_group="PG"),
    )
    await other.invoke(desk.address, goodbye)
    await members(desk)
    await other.close()

    assert sorted(both) == ["c1", "c2"]
    assert (at_join, len(desk.pushed), len(told)) == (2, 3, 1)


async def test_closed_connection_leaves_its_groups(desk: Desk) -> None:
    other = RemotingClient()
    join = Command.request(RequestCode.HEART_BEAT, body=heartbeat("c2"))
    await other.invoke(desk.address, join)
    await other.close()
    await until(lambda: desk.app.broker.consumers.group(GROUP) is None)
    assert await members(desk) == ["no consumer for this group, G"]


async def consumers_of(desk: Desk, group: str) -> Command:
    header = GetConsumerConnectionList(consumer_group=group)
    return await desk.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, header)


async def producers_of(desk: Desk, group: str) -> Command:
    header = GetProducerConnectionList(producer_group=group)
    return await desk.ask(RequestCode.GET_PRODUCER_CONNECTION_LIST, header)


async def test_connections_show_language_version_and_subscriptions(desk: Desk) -> None:
    await desk.heartbeat()
    consumers, producers = await consumers_of(desk, GROUP), await producers_of(desk, "PG")
    everything = await desk.ask(RequestCode.GET_ALL_PRODUCER_INFO, GetAllProducerInfo())
    body = ConsumerConnection.decode(consumers.body)
    (member,) = body.connection_set

    assert (member.client_id, member.language, member.version) == ("c1", LanguageCode.PYTHON, 407)
    assert (member.client_addr or "").startswith("127.0.0.1:")
    assert list(body.subscription_table) == [TOPIC]
    assert ProducerConnection.decode(producers.body).connection_set == [member]
    (info,) = ProducerTableInfo.decode(everything.body).data["PG"]
    assert info.remote_ip == f"/{member.client_addr}"


async def test_unknown_groups_have_javas_codes(desk: Desk) -> None:
    answers = [await consumers_of(desk, "none"), await producers_of(desk, "none")]
    assert [(answer.code, answer.remark) for answer in answers] == [
        (206, "the consumer group[none] not online"),
        (1, "the producer group[none] not exist"),
    ]


async def test_bad_heartbeats_are_refused_and_change_nothing(desk: Desk) -> None:
    bodies = [
        b"{bad",
        b"[]",
        heartbeat(group="a/b"),
        heartbeat(topics=("../x",)),
        heartbeat("").replace(b'"clientID":""', b'"clientID":null'),
        heartbeat(topics=tuple(f"t{at}" for at in range(SUBSCRIPTIONS_MAX + 1))),
    ]
    answers = [await desk.ask(RequestCode.HEART_BEAT, body=body) for body in bodies]
    assert desk.app.broker.consumers.group(GROUP) is None
    assert all(answer.remark for answer in answers)
    assert [answer.code for answer in answers] == [1, 1, 1, 1, 1, 1]


async def test_a_group_may_subscribe_to_as_many_topics_as_the_limit_says(desk: Desk) -> None:
    await desk.heartbeat(topics=tuple(f"t{at}" for at in range(SUBSCRIPTIONS_MAX)))
    assert len(desk.app.broker.consumers.group(GROUP).subscriptions) == SUBSCRIPTIONS_MAX


async def test_only_tag_expressions_are_understood(desk: Desk) -> None:
    def body(kind: str) -> bytes:
        subscription = SubscriptionData(topic=TOPIC, sub_string="a > 1", expression_type=kind)
        return CheckClientRequestBody(
            client_id="c1", group=GROUP, subscription_data=subscription
        ).encode()

    code = RequestCode.CHECK_CLIENT_CONFIG
    tags = await desk.ask(code, body=body("TAG"))
    sql = await desk.ask(code, body=body("SQL92"))

    assert (tags.code, sql.code) == (0, 1)
    assert sql.remark == "The broker does not support consumer to filter message by SQL92"


@pytest.mark.parametrize("by", ["broker", "group"])
async def test_members_are_not_told_where_the_broker_or_the_group_forbids_it(
    tmp_path: Path, by: str
) -> None:
    settings = {"notify_consumer_ids_changed_enable": by != "broker"}
    async with running(tmp_path, **settings) as desk:
        if by == "group":
            group = SubscriptionGroup(group_name=GROUP, notify_consumer_ids_changed_enable=False)
            desk.app.broker.groups.put(group, now_ms=0)
        await desk.heartbeat()
        # The answer to a later request comes after whatever the heartbeat made.
        await desk.heartbeat(topics=("T", "U"))

        assert desk.pushed == []


async def test_what_subscriptions_take_is_charged_to_the_connection_that_brings_them(
    desk: Desk,
) -> None:
    sizes = []
    for version, tags in enumerate(["A", "A", "B" * 10_000, "C" * 10_000]):
        body = heartbeat(expression=tags, version=version)
        assert (await desk.ask(RequestCode.HEART_BEAT, body=body)).code == 0
        (conn,) = desk.app.broker.consumers.group(GROUP).members
        sizes.append(conn.held_size)

    assert [later - sizes[0] for later in sizes] == [0, 0, 19_998, 19_998]
    assert sizes[0] >= SUBSCRIPTION_SIZE
