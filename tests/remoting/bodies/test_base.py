"""The rules by which fastjson reads and writes, each as it was observed."""

from dataclasses import dataclass, field
from enum import Enum

import pytest

from remoting.bodies import (
    ConsumeStats,
    ConsumeType,
    HeartbeatData,
    KVTable,
    MessageQueue,
    ProcessQueueInfo,
    ResetOffsetBody,
    SubscriptionData,
    TopicList,
    TopicOffset,
    TopicStatsTable,
)
from remoting.bodies.base import Body, items_of
from remoting.errors import BadBody


class Colour(Enum):
    """Two of them."""

    RED = 10
    BLUE = 20


@dataclass(slots=True, kw_only=True)
class Sample(Body):
    """One of each kind."""

    queue_id: int = 7
    rate: float = 0.0
    sure: bool = True
    colour: Colour | None = None
    fixed: Colour = Colour.RED
    names: list[str] = field(default_factory=list)
    table: dict[int, str] = field(default_factory=dict)
    inner: TopicOffset | None = None
    text: str | None = None


def test_keys_are_sorted_and_none_is_left_out() -> None:
    assert Sample(names=["b", "a"]).encode() == (
        b'{"fixed":"RED","names":["b","a"],"queueId":7,"rate":0.0,"sure":true,"table":{}}'
    )


def test_missing_and_null_keep_the_default_and_unknown_is_ignored() -> None:
    assert Sample.decode(b'{"queueId":null,"x":{"y":[1]}}') == Sample()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"queueId":"5"}', Sample(queue_id=5)),
        ('{"queueId":5.0}', Sample(queue_id=5)),
        ('{"rate":"1.5"}', Sample(rate=1.5)),
        ('{"rate":2}', Sample(rate=2.0)),
        ('{"sure":"false"}', Sample(sure=False)),
        ('{"sure":0}', Sample(sure=False)),
        ('{"sure":"1"}', Sample(sure=True)),
        ('{"colour":"BLUE"}', Sample(colour=Colour.BLUE)),
        ('{"colour":1}', Sample(colour=Colour.BLUE)),
        ('{"colour":"GREEN"}', Sample()),
        ('{"fixed":"GREEN"}', Sample()),
        ('{"colour":9}', Sample()),
        ('{"table":{"1":"a",2:"b","3":null}}', Sample(table={1: "a", 2: "b"})),
        ('{"names":["a",null,5,true]}', Sample(names=["a", "5", "true"])),
        ('{"QUEUE_ID":5,"Names":["a"]}', Sample(queue_id=5, names=["a"])),
        ("{queueId:5,'text':'it'}", Sample(queue_id=5, text="it")),
        ('{"text":{"a":1}}', Sample(text='{"a":1}')),
        ('{"inner":{"maxOffset":3}}', Sample(inner=TopicOffset(max_offset=3))),
    ],
)
def test_reading_is_as_lenient_as_fastjson(text: str, expected: Sample) -> None:
    assert Sample.decode(text.encode()) == expected


def test_bytes_that_are_no_utf8_are_read_as_in_java() -> None:
    assert Sample.decode(b'{"text":"%s"}' % "中".encode("gbk")) == Sample(text="\ufffd\ufffd")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("", ""),
        ("[]", ""),
        ("7", ""),
        ("{", ""),
        ("xx", ""),
        ("\xff", ""),
        ("[" * 100_000, ""),
        ('{"queueId":"x"}', "queueId"),
        ('{"queueId":[1]}', "queueId"),
        ('{"queueId":99999999999999999999}', "queueId"),
        ('{"queueId":1e400}', ""),
        ('{"rate":"x"}', "rate"),
        ('{"rate":[1]}', "rate"),
        ('{"sure":"maybe"}', "sure"),
        ('{"sure":[]}', "sure"),
        ('{"names":"a"}', "names"),
        ('{"names":{"a":1}}', "names"),
        ('{"table":[1]}', "table"),
        ('{"table":{"x":"a"}}', "table"),
    ],
)
def test_nonsense_is_a_bad_body_that_names_the_key(text: str, key: str) -> None:
    with pytest.raises(BadBody) as caught:
        Sample.decode(text.encode("latin-1"))

    assert caught.value.body == "Sample"
    assert caught.value.field == key


def test_a_wrong_part_is_named_by_its_own_class() -> None:
    with pytest.raises(BadBody, match=r"TopicOffset.maxOffset") as caught:
        Sample.decode(b'{"inner":{"maxOffset":"x"}}')

    assert caught.value.body == "TopicOffset"


def test_a_required_key_must_be_there() -> None:
    with pytest.raises(BadBody, match="SubscriptionData needs the key topic"):
        SubscriptionData.decode(b'{"subString":"*"}')


def test_not_a_number_is_written_as_nothing() -> None:
    assert ConsumeStats(consume_tps=float("nan")).encode() == b'{"offsetTable":{}}'


def test_queues_are_object_keys() -> None:
    body = ResetOffsetBody(offset_table={MessageQueue("T", "b", 1): 7})

    assert body.encode() == b'{"offsetTable":{{"brokerName":"b","queueId":1,"topic":"T"}:7}}'
    assert ResetOffsetBody.decode(body.encode()) == body


def test_an_object_key_may_be_text() -> None:
    text = (
        rb'{"offsetTable":{"{\"brokerName\":\"b\",\"queueId\":1,\"topic\":\"T\"}":{"maxOffset":5}}}'
    )

    assert TopicStatsTable.decode(text).offset_table == {
        MessageQueue("T", "b", 1): TopicOffset(max_offset=5)
    }


@pytest.mark.parametrize("key", ['"x"', "5", '"[1]"', '{"queueId":{"a":1}}'])
def test_an_object_key_that_is_none_is_a_bad_body(key: str) -> None:
    with pytest.raises(BadBody):
        TopicStatsTable.decode(f'{{"offsetTable":{{{key}:{{}}}}}}'.encode())


def test_references_are_followed() -> None:
    text = (
        b'{"clientID":"c","consumerDataSet":[{"groupName":"g2","subscriptionDataSet":'
        b'[{"subString":"*","topic":"T"}]},{"groupName":"g1","subscriptionDataSet":'
        b'[{"$ref":"$.consumerDataSet[0].subscriptionDataSet[0]"}]}]}'
    )

    first, second = HeartbeatData.decode(text).consumer_data_set

    assert first.subscription_data_set == second.subscription_data_set
    assert second.consume_type is None


def test_control_characters_are_written_as_fastjson_writes_them() -> None:
    body = KVTable(table={"k": '\x01\t"\\/\x0b\x7f\u2028é'})

    assert body.encode().decode() == ('{"table":{"k":"\\u0001\\t\\"\\\\/\\u000B\\u007F\\u2028é"}}')
    assert KVTable.decode(body.encode()) == body


def test_queues_sort_as_java_sorts_them() -> None:
    queues = [
        MessageQueue("b", "x", 0),
        MessageQueue("a", "y", 0),
        MessageQueue("a", "x", 10),
        MessageQueue("a", "x", 9),
    ]

    assert sorted(queues) == [queues[3], queues[2], queues[1], queues[0]]
    assert str(queues[0]) == "b/x/0"


def test_a_body_key_must_have_a_kind_json_knows() -> None:
    @dataclass(slots=True, kw_only=True)
    class Wrong(Body):
        """A set has no order to write."""

        names: set[str]

    with pytest.raises(TypeError, match="a body key cannot be"):
        items_of(Wrong)


def test_java_names_that_no_rule_gives() -> None:
    keys = {item.key for item in items_of(ProcessQueueInfo)}

    assert {"cachedMsgSizeInMiB", "droped"} <= keys
    assert ConsumeType.CONSUME_PASSIVELY.value == "PUSH"
    assert TopicList(topic_list=["a"]).encode() == b'{"topicList":["a"]}'
