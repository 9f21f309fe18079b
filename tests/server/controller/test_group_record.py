"""The record of a group as JSON."""

import pytest

from mqserver.controller.group_record import decode_record, encode_record
from storefmt.errors import ConfigDamaged
from tests.server.controller.examples import LED, PAIR


@pytest.mark.parametrize("record", [PAIR, LED], ids=["no master", "with a master"])
def test_a_record_is_read_as_it_was_written(record) -> None:
    assert decode_record(encode_record(record)) == record


def test_keys_are_in_alphabetical_order() -> None:
    assert encode_record(LED) == (
        '{"brokerName":"g","clusterName":"C","inSyncSet":[1,2],"inSyncSetEpoch":7,"masterEpoch":4,'
        '"masterId":1,"nextBrokerId":3,"replicas":{1:{"address":"h:1","checkCode":"h:1;17"},'
        '2:{"address":"h:2","checkCode":"h:2;18"}}}'
    )


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"inSyncSet":[1,2]', '"inSyncSet":[1,"x"]', "inSyncSet"),
        ('"masterEpoch":4', '"masterEpoch":-1', "masterEpoch"),
        ('"masterEpoch":4', '"masterEpoch":true', "masterEpoch"),
        ('"clusterName":"C",', "", "clusterName"),
        ('{1:{"address"', '{"x":{"address"', "'x' is not the id"),
        ('"checkCode":"h:1;17"', '"checkCode":3', "checkCode"),
        ('"replicas":', '"others":', "replicas"),
    ],
)
def test_a_damaged_record_is_refused_with_the_key(old: str, new: str, problem: str) -> None:
    text = encode_record(LED)
    assert old in text

    with pytest.raises(ConfigDamaged, match=problem):
        decode_record(text.replace(old, new))
