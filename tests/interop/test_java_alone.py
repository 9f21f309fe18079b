"""The harness itself: the real client, servers and mqadmin work together before we join in."""

import pytest

from tests.interop.rocketmq import JavaBroker, JavaNamesrv
from tests.interop.toolbox import Toolbox, body_of

pytestmark = pytest.mark.java


def test_java_client_sends_and_receives_through_java_servers(
    toolbox: Toolbox, java_namesrv: JavaNamesrv, java_broker: JavaBroker
) -> None:
    where = {"namesrv": java_namesrv.address, "topic": "AloneTopic"}
    messages = [{"body": f"b{i}", "tags": "A", "keys": f"k{i}"} for i in range(10)]

    sent = toolbox.run("Producer", {**where, "group": "PG", "mode": "sync", "messages": messages})
    got = toolbox.start(
        "PushConsumer",
        {**where, "group": "AloneGroup", "subscription": "*", "count": 10, "timeoutMs": 30_000},
    )

    assert [line["status"] for line in sent] == ["SEND_OK"] * 10
    received = got.messages(10)
    assert {line["msgId"] for line in received} == {line["msgId"] for line in sent}
    assert {body_of(line) for line in received} == {f"b{i}".encode() for i in range(10)}
    got.rest()


def test_java_mqadmin_lists_the_broker(
    toolbox: Toolbox, java_namesrv: JavaNamesrv, java_broker: JavaBroker
) -> None:
    output = toolbox.mqadmin("clusterList", "-n", java_namesrv.address)

    assert java_broker.address in output.stdout
    assert output.stderr == ""
