"""Route answers: bare keys for old readers, strict JSON for new ones."""

import json
from pathlib import Path

import pytest

from remoting.bodies import BrokerData, QueueData, TopicRouteData
from tests.remoting.captures import frames

ROUTE = TopicRouteData(
    broker_datas=[
        BrokerData(broker_name="b", broker_addrs={1: "2.2.2.2:2", 0: "1.1.1.1:1"}, cluster="中\\u")
    ]
)


def test_strict_json_has_quoted_sorted_keys_and_upper_case_escapes() -> None:
    assert ROUTE.encode_strict() == (
        b'{"brokerDatas":[{"brokerAddrs":{"0":"1.1.1.1:1","1":"2.2.2.2:2"},"brokerName":"b",'
        b'"cluster":"\\u4E2D\\\\u"}],"filterServerTable":{},"queueDatas":[]}'
    )
    assert TopicRouteData.decode(ROUTE.encode_strict()) == ROUTE


@pytest.mark.parametrize(
    ("version", "strict_only", "strict"),
    [(400, False, False), (401, False, True), (0, True, True), (407, False, True)],
)
def test_the_version_of_the_request_decides(version: int, strict_only: bool, strict: bool) -> None:
    text = ROUTE.encode_for(version, strict_only=strict_only)

    assert (b'{"0":' in text) is strict


def test_recorded_routes_are_written_again_as_they_were(fact_tables: Path) -> None:
    seen = 0
    for name in ("json", "acl", "5x_client"):
        for frame in frames(fact_tables, name):
            if frame.body.startswith(b'{"brokerDatas"'):
                seen += 1
                route = TopicRouteData.decode(frame.body)
                assert json.loads(route.encode_strict()) == json.loads(frame.body)
                assert route.encode_strict() == frame.body
    assert seen == 9


def test_a_broker_without_master_still_has_an_address() -> None:
    broker = BrokerData(broker_name="b", broker_addrs={2: "x:2", 1: "x:1"})

    assert broker.master() is None
    assert broker.any_address() == "x:1"
    assert BrokerData(broker_name="b").any_address() is None
    assert ROUTE.broker_datas[0].master() == "1.1.1.1:1"
    assert QueueData(broker_name="b").perm == 0
