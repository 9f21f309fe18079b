"""Records of the revive log, as a broker of 5.4.0 wrote them."""

import json

import pytest

from mqserver.broker.pop.checkpoints import (
    Acknowledged,
    PopCheckpoint,
    PopKey,
    ReviveRecords,
    read_record,
)
from mqserver.store.results import PutMessage
from storefmt.formats.hosts import pack_host
from storefmt.formats.message import Record, decode_record
from storefmt.formats.properties import parse_properties
from tests.records import record_bytes

HOST = pack_host("127.0.0.1", 10911)
KEY = PopKey("T", "G", 0, 0, 1795476736034)
# Bodies, unique keys and times of a store that 5.4.0 wrote.
CK = (
    '{"bm":0,"bn":"broker-a","c":"G","d":[0,1,2],"it":6000,"n":3,"pt":1795476736034,"q":0,'
    '"reviveTime":1795476742034,"ro":0,"so":0,"t":"T"}'
)
ACK = '{"ao":2,"bn":"broker-a","c":"G","pt":1795476736034,"q":0,"so":0,"t":"T"}'
BATCH = '{"ao":-1,"aol":[5,14],"bn":"bn","c":"G","pt":0,"q":0,"so":0,"t":"T"}'


def record_of(body: bytes, tag: str) -> Record:
    properties = f"TAGS\x01{tag}".encode()
    return decode_record(
        record_bytes(topic=b"rmq_sys_REVIVE_LOG_C", body=body, properties=properties)
    )


def records(broker: str = "broker-a") -> ReviveRecords:
    return ReviveRecords(cluster="TestCluster", broker=broker, host=HOST)


def ack_message(acknowledged: Acknowledged, broker: str = "broker-a") -> PutMessage:
    return records(broker).acknowledgement(
        acknowledged, queue_id=0, deliver_ms=1795476742034, now_ms=1
    )


def test_checkpoint_has_the_body_and_the_properties_of_5_4_0() -> None:
    found = PopCheckpoint(KEY, 6_000, (0, 1, 2))
    message = records().checkpoint(found, queue_id=5, now_ms=1)

    assert message.body == CK.encode()
    assert (message.topic, message.queue_id) == ("rmq_sys_REVIVE_LOG_TestCluster", 5)
    assert parse_properties(message.properties) == {
        "TAGS": "ck",
        "TIMER_DELIVER_MS": "1795476741034",
        "UNIQ_KEY": "T@0@0@G@1795476736034@broker-a@ck",
    }
    assert message.tags_code == 3176
    assert read_record(record_of(CK.encode(), "ck")) == found


def test_acknowledgements_have_the_body_and_the_properties_of_5_4_0() -> None:
    one, two = Acknowledged(KEY, (2,)), Acknowledged(PopKey("T", "G", 0, 0, 0), (5, 14))

    assert ack_message(one).body == ACK.encode()
    assert ack_message(two, "bn").body == BATCH.encode()
    assert parse_properties(ack_message(one).properties) == {
        "TAGS": "ack",
        "TIMER_DELIVER_MS": "1795476742034",
        "UNIQ_KEY": "T@0@2@G@1795476736034@broker-a@ack",
    }
    assert ack_message(one).tags_code == 96393
    assert read_record(record_of(ACK.encode(), "ack")) == one
    assert read_record(record_of(BATCH.encode(), "bAck")) == two


def test_bits_of_all_messages_are_javas_int_both_ways() -> None:
    full = PopCheckpoint(KEY, 6_000, tuple(range(32)), done=(1 << 32) - 1)
    message = records().checkpoint(full, queue_id=0, now_ms=1)

    assert json.loads(bytes(message.body))["bm"] == -1
    assert read_record(record_of(bytes(message.body), "ck")) == full


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"\xff",
        b"{}",
        b"[" * 100_000,
        CK.replace('"t":"T"', '"t":null').encode(),
        CK.replace('"so":0', '"so":"0"').encode(),
        CK.replace("[0,1,2]", "[0,2,1]").encode(),
        CK.replace("[0,1,2]", str(list(range(33)))).encode(),
        CK.replace('"pt":1795476736034', '"pt":1e999').encode(),
    ],
)
def test_body_that_is_no_checkpoint_means_nothing(body: bytes) -> None:
    assert read_record(record_of(body, "ck")) is None
    assert read_record(record_of(CK.encode(), "other")) is None
