"""Admin requests that tools seldom send, at the real servers and at ours."""

import uuid

import pytest

from mqclient.admin.admin import Admin
from mqclient.errors import BrokerRefused
from mqclient.message import Message
from remoting.bodies import MessageQueue
from tests.interop.kit.our_clients import listening, make_topic
from tests.interop.kit.servers import Servers
from tests.waiting import wait


def test_seldom_asked_requests_are_answered_alike(servers: Servers) -> None:
    topic, address = f"Seldom_{uuid.uuid4().hex[:6]}", servers.broker.address
    group = f"G_{topic}"
    make_topic(servers, topic, 2)
    with listening(servers, group, topic) as ours:
        client, admin = ours.client, Admin(ours.client.mq)
        queues = [MessageQueue(topic, servers.broker.name, i) for i in range(2)]
        for queue in queues:
            client.send(Message(topic, b"x"), queue=queue)
        wait(lambda: len(ours.got) == 2, what="both messages")

        def status() -> dict[str, dict[MessageQueue, int]]:
            return client.run(admin.consumer_status(address, group, topic))

        def kept() -> dict[int, int] | None:
            return client.run(admin.all_consumer_offsets(address)).get((topic, group))

        wait(lambda: status() == {client.mq.client_id: dict.fromkeys(queues, 1)}, what="positions")
        wait(lambda: kept() == {0: 1, 1: 1}, what="positions at the broker")
        names, broker = client.run(admin.cluster_names())
        units = [
            client.run(ask())
            for ask in (admin.unit_topics, admin.unit_sub_topics, admin.unit_sub_ununit_topics)
        ]
        corrected = client.run(admin.correction_offsets(address, topic, group))
        nowhere = ours.got[0].offset_msg_id[:16] + f"{10**12:016X}"
        with pytest.raises(BrokerRefused) as refused:
            client.run(admin.resume_check_half_message(nowhere))

    assert {servers.broker.name, servers.broker.cluster} <= set(names)
    assert broker == address
    assert units == [[], [], []]
    assert corrected == {0: 1, 1: 1}
    assert refused.value.code == 1
