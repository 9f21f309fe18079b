"""Filters of heartbeats on the wire: what is refused, and what the filter of retries takes."""

from collections.abc import Iterator

import pytest

from remoting.bodies import ConsumerData, HeartbeatData, SubscriptionData
from remoting.codes import RequestCode
from remoting.headers import PullMessage, SendMessageV2
from storefmt.formats.message import decode_records
from tests.interop.conftest import Servers
from tests.interop.kit.our_clients import asking, make_topic
from tests.interop.kit.servers import Side, running_pair
from tests.server.broker.desk import pull, send
from tests.waiting import eventually

TOPIC, GROUP = "filter_rules", "RulesGroup"
RETRY = f"%RETRY%{GROUP}"


@pytest.fixture(scope="module")
def rules(side: Side, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Yield a pair whose broker filters retries, too."""
    settings = {"filterSupportRetry": "true", "enablePropertyFilter": "true"}
    with running_pair(
        side, tmp_path_factory.mktemp("rules") / "store", settings=settings
    ) as servers:
        make_topic(servers, TOPIC, 2)
        yield servers


def heartbeat(expression: str, version: int) -> bytes:
    return HeartbeatData(
        client_id="rules",
        consumer_data_set=[
            ConsumerData(
                group_name=GROUP,
                subscription_data_set=[
                    SubscriptionData(
                        topic=TOPIC,
                        sub_string=expression,
                        expression_type="SQL92",
                        sub_version=version,
                    ),
                    SubscriptionData(topic=RETRY, sub_string="*", sub_version=version),
                ],
            )
        ],
    ).encode()


def pulling(topic: str, version: int) -> PullMessage:
    """Return a pull without a subscription: that of the heartbeat counts."""
    own = {"sys_flag": 0, "subscription": None, "expression_type": None}
    return pull(consumer_group=GROUP, topic=topic, sub_version=version, **own)


def retried(number: int) -> SendMessageV2:
    return send(topic=RETRY, properties=f"RETRY_TOPIC\1{TOPIC}\2n\1{number}")


async def test_filters_are_refused_and_retries_are_filtered(rules: Servers) -> None:
    beat, told = RequestCode.HEART_BEAT, []
    async with asking(rules.broker.address) as ask:
        for expression, version, asked in (("n >", 1, 1), ("n < 3", 2, 3), ("n >", 4, 4)):
            await ask(beat, body=heartbeat(expression, version))
            answer = await ask(RequestCode.PULL_MESSAGE, pulling(TOPIC, asked))
            told.append((answer.code, answer.remark))
        await ask(beat, body=heartbeat("n < 3", 5))
        for number in range(6):
            sent = await ask(RequestCode.SEND_MESSAGE_V2, retried(number), b"%d" % number)
            assert sent.code == 0, sent
        answer = await eventually(
            lambda: ask(RequestCode.PULL_MESSAGE, pulling(RETRY, 5)),
            lambda answer: answer.code == 0 and int(answer.ext["nextBeginOffset"]) == 6,
        )
    bodies = [record.body for record in decode_records(answer.body)]

    # A filter that cannot be compiled takes the one before along: 28 is not reached by these.
    unknown = "The broker's consumer filter data is not exist!Your expression may be wrong!"
    assert [code for code, _ in told] == [27, 25, 27]
    for (_, remark), text in zip(
        told, [unknown, "the consumer's subscription not latest", unknown], strict=True
    ):
        assert remark is not None
        assert remark.startswith(text)
    assert bodies == [b"0", b"1", b"2"]
