"""The scene that commands are compared on: the same topics, groups and messages on two pairs.

    SceneTopic    six messages in known queues
    SceneOnline   a group that is online and has read them
    SceneOffline  a group that is offline, with offsets

Rule: what differs by nature (ports, ids, times, rates) is blanked out before two outputs are
compared, and the lines are sorted, since Java prints maps in any order.
"""

import re
import shlex
from dataclasses import dataclass

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from remoting.bodies import MessageQueue
from tests.interop.kit.our_clients import make_topic
from tests.interop.kit.servers import Servers
from tests.interop.kit.toolbox import Job, Output, Toolbox
from tests.waiting import eventually

TOPIC, ONLINE, OFFLINE = "SceneTopic", "SceneOnline", "SceneOffline"


@dataclass(frozen=True)
class Scene:
    """One pair of servers with the scene on it."""

    servers: Servers
    toolbox: Toolbox
    consumer: Job
    client_id: str
    """Of the consumer that is online."""
    offset_id: str
    unique_key: str

    def mqadmin(self, *words: str) -> Output:
        """Run a command against this pair."""
        return self.toolbox.mqadmin(*words, "-n", self.servers.namesrv.address)

    def words(self, line: str, **more: str) -> list[str]:
        """Return the words of a command line, with what it names of the scene put in.

        A line may name {topic} {online} {offline}, {broker} and its {address} and {cluster},
        {client}, the {id} and the {unique} key of a message, and what is in ``more``.
        """
        broker = self.servers.broker
        names = {
            "topic": TOPIC,
            "online": ONLINE,
            "offline": OFFLINE,
            "broker": broker.name,
            "address": broker.address,
            "cluster": broker.cluster,
            "client": self.client_id,
            "id": self.offset_id,
            "unique": self.unique_key,
        }
        return [word.format(**names, **more) for word in shlex.split(line)]

    @property
    def broker(self) -> str:
        """The address of the broker."""
        return self.servers.broker.address


def play(servers: Servers, toolbox: Toolbox) -> Scene:
    """Play the scene on one pair."""
    where = {"namesrv": servers.namesrv.address, "topic": TOPIC, "group": ONLINE}
    make_topic(servers, TOPIC, 2)
    messages = [
        {
            "body": f"body {i}",
            "tags": f"Tag{'AB'[i % 2]}",
            "keys": f"key{i}",
            "queue": i % 2,
            "broker": servers.broker.name,
        }
        for i in range(6)
    ]
    spec = {**where, "mode": "sync", "messages": messages}
    sent = toolbox.run("Producer", {**spec, "group": "ScenePG"})
    assert [line["event"] for line in sent] == ["sent"] * 6
    more = {"subscription": "TagA || TagB", "count": 6, "linger": True}
    consumer = toolbox.start("PushConsumer", {**where, **more})
    client_id = consumer.until("started")[-1]["clientId"]
    return Scene(servers, toolbox, consumer, client_id, sent[2]["offsetMsgId"], sent[2]["msgId"])


async def settle(servers: Servers) -> None:
    async with MQClient(servers.namesrv.address, timeout_s=60) as client:
        admin, address = Admin(client), servers.broker.address

        async def offsets() -> dict[int, int]:
            return (await admin.all_consumer_offsets(address)).get((TOPIC, ONLINE), {})

        async def retry_topic() -> bool:
            return f"%RETRY%{ONLINE}" in await admin.topic_list()

        async def counted() -> int:
            stats = await admin.broker_stats(address, "GROUP_GET_NUMS", f"{TOPIC}@{ONLINE}")
            return stats.stats_minute.sum if stats.stats_minute else 0

        # Brokers take samples of their counters every ten seconds.
        await eventually(counted, lambda count: count == 6)
        await eventually(offsets, lambda found: found == {0: 3, 1: 3})
        await eventually(retry_topic, bool)
        for queue_id, offset in ((0, 1), (1, 2)):
            queue = MessageQueue(TOPIC, servers.broker.name, queue_id)
            await admin.update_consumer_offset(address, OFFLINE, queue, offset)


def blank(text: str, scene: Scene) -> list[str]:
    """Return the lines of a command's output without what differs by nature, sorted."""
    lines = without_nature(text, scene).splitlines()
    return sorted(" ".join(line.split()) for line in lines if line.strip())


def without_nature(text: str, scene: Scene) -> str:
    """Return a command's output without what differs by nature."""
    for pattern, stands in (
        (re.escape(scene.broker), "<broker>"),
        (re.escape(scene.servers.namesrv.address), "<namesrv>"),
        (r"\d+\.\d+\.\d+\.\d+@\d+#\d+", "<client>"),
        (r"/?\d+\.\d+\.\d+\.\d+:\d+", "<address>"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(,\d+)?", "<time>"),
        (r"\b1[67]\d{11}\b", "<ms>"),
        (r"\b(?:[0-9A-F]{32}|[0-9A-F]{56})\b", "<id>"),
        (r"\d+\.\d+\(\d+,\d+ms\)|\b\d+\.\d{2,4}\b", "<rate>"),
        (r"CommitLog Offset:.*", "<log offset>"),
        (r"storeSize=\d+", "<size>"),
        (r"[^ ]*/msgbodys/", "<bodies>/"),
        (r"(?m)^\tat .*|\t\.\.\. \d+ .*", ""),
    ):
        text = re.sub(pattern, stands, text)
    return text
