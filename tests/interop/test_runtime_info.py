"""The real broker and ours count the same load in the same words.

Sends, batches, a delayed and a refused message, pulls with and without a find go to both,
one frame like the other. Then runtime info (28) and the statistics items (315) are compared:
Java's keys, the same form of every value, the same numbers where the load decides them.
"""

import asyncio
import re
from collections.abc import Iterator

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.errors import BrokerRefused
from remoting.codes import RequestCode
from remoting.headers import GetMaxOffset
from storefmt.formats.batch import BatchEntry, join_batch
from tests.interop.kit.our_clients import asking
from tests.interop.kit.servers import Broker, JavaSide, OurSide
from tests.server.broker.desk import GROUP, TOPIC, create, heartbeat, pull, send
from tests.waiting import eventually

CLUSTER = "TestCluster"
OURS = {
    *("haRole", "haConnectedSlaves", "haAnsweredOffset", "haDeliveredLogOffset", "haServerAddress"),
    *("haEpoch", "haEpochHeard", "haFence", "haBrokerName", "kernels"),
    "eventLoop",
}
"""Keys of ours alone, for `mqadmin ha status`, for slaves and for other masters of the name, and
the compiled kernels and the event loop in use."""
DELAYED = "DELAY\0011"
SAME = (
    "EndTransactionQueueSize",
    "EndTransactionThreadPoolQueueCapacity",
    "brokerVersion",
    "brokerVersionDesc",
    "commitLogMaxOffset",
    "commitLogMinOffset",
    "dispatchBehindBytes",
    "dispatchMaxBuffer",
    "msgGetTotalTodayMorning",
    "msgGetTotalTodayNow",
    "msgGetTotalYesterdayMorning",
    "msgPutTotalTodayMorning",
    "msgPutTotalTodayNow",
    "msgPutTotalYesterdayMorning",
    "pageCacheLockTimeMills",
    "pullThreadPoolQueueCapacity",
    "putMessageAverageSize",
    "putMessageFailedTimes",
    "putMessageSizeTotal",
    "putMessageTimesTotal",
    "queryThreadPoolQueueCapacity",
    "remainHowManyDataToFlush",
    "remainTransientStoreBufferNumbs",
    "scheduleMessageOffset_1",
    "sendThreadPoolQueueCapacity",
    "sendThreadPoolQueueSize",
    "startAcceptSendRequestTimeStamp",
)
Numbers = tuple[dict[str, str], dict[tuple[str, str], tuple[int, float]]]
"""Runtime info, and sum and average of statistics in the last minute."""
STATISTICS = (
    ("TOPIC_PUT_NUMS", TOPIC),
    ("TOPIC_PUT_SIZE", TOPIC),
    ("TOPIC_PUT_NUMS", "SCHEDULE_TOPIC_XXXX"),
    ("TOPIC_PUT_SIZE", "SCHEDULE_TOPIC_XXXX"),
    ("GROUP_GET_NUMS", f"{TOPIC}@{GROUP}"),
    ("GROUP_GET_SIZE", f"{TOPIC}@{GROUP}"),
    ("BROKER_PUT_NUMS", CLUSTER),
    ("BROKER_GET_NUMS", CLUSTER),
)


@pytest.fixture(scope="module")
def brokers(
    java_side: JavaSide, our_side: OurSide, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Broker]]:
    """Yield the real broker and ours, both new and without a name server."""
    settings = {"maxMessageSize": "4096"}
    stores = [tmp_path_factory.mktemp("runtime") / "store" for _ in range(2)]
    with (
        Broker(java_side, store=stores[0], settings=settings) as java,
        Broker(our_side, store=stores[1], settings=settings) as ours,
    ):
        yield [java, ours]


async def play(broker: Broker) -> None:
    """Send the load."""
    async with asking(broker.address) as ask:
        await ask(RequestCode.UPDATE_AND_CREATE_TOPIC, create(TOPIC))
        await ask(RequestCode.HEART_BEAT, body=heartbeat())
        for number in range(5):
            await ask(RequestCode.SEND_MESSAGE_V2, send(), b"body %d" % number)
        batch = join_batch([BatchEntry(0, b"one", b"TAGS\1A"), BatchEntry(0, b"two", b"TAGS\1A")])
        await ask(RequestCode.SEND_BATCH_MESSAGE, send(batch=True), batch)
        delayed = await ask(RequestCode.SEND_MESSAGE_V2, send(properties=DELAYED), b"delayed")
        large = await ask(RequestCode.SEND_MESSAGE_V2, send(), b"x" * 4097)
        assert (delayed.code, large.code) == (0, 13), (delayed, large)

        async def end() -> str:
            answer = await ask(RequestCode.GET_MAX_OFFSET, GetMaxOffset(topic=TOPIC, queue_id=0))
            return answer.ext["offset"]

        # A pull beyond the end of a queue that has some of the entries is "offset moved", of which
        # Java stores a message; hence no pull before the last entry is there.
        await eventually(end, lambda offset: offset == "8")
        await ask(RequestCode.PULL_MESSAGE, pull(queue_offset=7, max_msg_nums=1))
        await ask(RequestCode.PULL_MESSAGE, pull(queue_offset=2, max_msg_nums=3))
        for _ in range(3):
            await ask(RequestCode.PULL_MESSAGE, pull(queue_offset=8))


async def numbers(broker: Broker) -> Numbers:
    """Return runtime info and statistics as they are now."""
    async with MQClient(broker.address, timeout_s=60) as client:
        admin, found = Admin(client), {}
        for name, key in STATISTICS:
            minute = (await admin.broker_stats(broker.address, name, key)).stats_minute
            assert minute is not None
            found[name, key] = minute.sum, minute.avgpt
        return keys_of(await admin.broker_runtime(broker.address)), found


class BrokerSamples:
    """What one broker has said of itself while it counted.

    Samples of statistics are taken every ten seconds, of rates every second, of the times of
    puts every minute, by each broker at moments of its own: they agree in the end, and not
    always at one moment. A load is in the sums for a minute.
    """

    def __init__(self) -> None:
        self.texts: dict[str, set[str]] = {}
        self.forms: dict[str, set[str]] = {}
        self.sums = dict.fromkeys(STATISTICS, (0, 0.0))

    def add(self, info: dict[str, str], sums: dict[tuple[str, str], tuple[int, float]]) -> None:
        """Take what it says now."""
        for key, text in info.items():
            self.texts.setdefault(key, set()).add(text)
            self.forms.setdefault(key, set()).add(form(key, text))
        self.sums = {key: max(self.sums[key], sums[key]) for key in STATISTICS}


def differing(java: BrokerSamples, ours: BrokerSamples) -> list[object]:
    """Return what the two have not agreed on yet, with what each has said of it."""
    return [
        *((key, java.texts[key], ours.texts[key])
          for key in SAME if not java.texts[key] & ours.texts[key]),
        *((key, forms, ours.forms.get(key))
          for key, forms in java.forms.items() if not forms & ours.forms.get(key, set())),
        *((key, java.sums[key], ours.sums[key])
          for key in STATISTICS if not java.sums[key][0] or java.sums[key] != ours.sums[key]),
    ]  # fmt: skip


def form(key: str, text: str) -> str:
    """Return a value with its digits blanked out."""
    if key == "earliestMessageTimeStamp":
        # Java reads two messages of the largest size there, and says -1 in a smaller log.
        return "a time"
    if key.endswith("Tps"):
        return re.sub(r"\d+\.\d+(E-?\d+)?", "N", text)
    return re.sub(r"[KMGT]iB", "unit", re.sub(r"\d+", "9", text))


def keys_of(info: dict[str, str]) -> dict[str, str]:
    """Return runtime info with the path in one of its keys blanked out."""
    return {re.sub(r"^(commitLogDiskRatio_).*", r"\1path", key): info[key] for key in info}


def test_both_count_the_same_load_alike(brokers: list[Broker]) -> None:
    java, ours = BrokerSamples(), BrokerSamples()

    async def left() -> list[object]:
        for seen, broker in zip((java, ours), brokers, strict=True):
            seen.add(*await numbers(broker))
        return differing(java, ours)

    async def run() -> None:
        await asyncio.gather(*(play(broker) for broker in brokers))
        await eventually(left, lambda found: not found, pause_s=0.5)

    asyncio.run(run())

    assert ours.texts.keys() == java.texts.keys() | OURS


def test_both_say_that_a_statistic_is_not_there(brokers: list[Broker]) -> None:
    async def refusal(broker: Broker) -> tuple[int, str]:
        async with MQClient(broker.address, timeout_s=60) as client:
            with pytest.raises(BrokerRefused) as refused:
                await Admin(client).broker_stats(broker.address, "TOPIC_PUT_NUMS", "nowhere")
            return refused.value.code, str(refused.value.remark)

    java, ours = (asyncio.run(refusal(broker)) for broker in brokers)

    assert ours == java
