"""A broker that does not take a message back: what we send instead is what Java sends."""

import uuid

from mqclient.message import Message, MessageExt
from tests.interop.kit.our_clients import blocking, listening, make_topic, read_topic
from tests.interop.kit.servers import Servers
from tests.interop.kit.toolbox import Toolbox, body_of, spec_of
from tests.waiting import wait

BODY = "Zürich 中文 ".encode() * 700
APART = {"MIN_OFFSET", "MAX_OFFSET", "CONSUME_START_TIME", "ORIGIN_MESSAGE_ID"}
"""The first three the Java client adds to what it gets, and sends along; the last it loses."""
OWN = {"UNIQ_KEY", "RETRY_TOPIC", "REAL_TOPIC"}
"""Other for each message."""


def shape(messages: list[MessageExt]) -> tuple[object, ...]:
    """Return what the one message is, but for its own names."""
    (message,) = messages
    properties = {
        name: "*" if name in OWN else value
        for name, value in message.properties.items()
        if name not in APART
    }
    record = message.record
    return (properties, record.body, record.flag, record.sys_flag, record.reconsume_times)


def test_a_message_nobody_takes_back_comes_again_by_the_retry_topic(
    toolbox: Toolbox, servers: Servers
) -> None:
    names = {who: f"Back_{who}_{uuid.uuid4().hex[:6]}" for who in ("java", "ours")}
    for topic in names.values():
        make_topic(servers, topic, 1)
    with blocking(servers) as client:
        for topic in names.values():
            client.send(Message(topic, BODY, tags="A", keys=["k"], flag=7, properties={"own": "x"}))
        job = toolbox.start("PushConsumer", spec_of(servers, names["java"], count=2, backTo="gone"))
        with listening(servers, f"G_{names['ours']}", names["ours"]) as ours:
            wait(lambda: len(ours.got) == 1, what="the first delivery")
            first = ours.got[0]
            ours.consumer.send_message_back(first, 1, broker_name="gone")
            wait(lambda: len(ours.got) == 2, what="the second delivery")
            again = ours.got[1]
        of_java = job.messages(2)
        job.rest()
        retried = {
            who: client.run(read_topic(client.mq, f"%RETRY%G_{topic}", 1))
            for who, topic in names.items()
        }

    assert (again.body, again.topic, again.reconsume_times) == (BODY, names["ours"], 1)
    assert again.unique_key == first.unique_key
    assert again.properties["ORIGIN_MESSAGE_ID"] == first.offset_msg_id
    assert (body_of(of_java[1]), of_java[1]["reconsumeTimes"]) == (BODY, 1)
    assert shape(retried["ours"]) == shape(retried["java"])
