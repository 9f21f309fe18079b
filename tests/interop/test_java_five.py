"""The 5.4.0 Java client and mqadmin in remoting mode, on the real 4.9.7 pair and on ours."""

import re
import uuid
from typing import Final

import pytest

from tests.interop.kit.our_clients import make_topic
from tests.interop.kit.servers import JavaSide, Servers
from tests.interop.kit.toolbox import Line, alone

COUNT: Final = 5


@pytest.fixture
def lines(five: JavaSide, servers: Servers) -> list[Line]:
    """Return what the 5.x program said of one pair."""
    topic, namesrv = f"Five_{uuid.uuid4().hex[:6]}", servers.namesrv.address
    make_topic(servers, topic, 2)
    commands = [
        ["topicRoute", "-t", topic],
        ["clusterList"],
        ["topicList"],
        ["queryMsgByKey", "-t", topic, "-k", "key1"],
        ["getBrokerConfig", "-b", servers.broker.address],
        ["topicStatus", "-t", topic],
    ]
    spec = {
        "namesrv": namesrv,
        "topic": topic,
        "count": COUNT,
        "commands": [[*words, "-n", namesrv] for words in commands],
    }
    return alone(five, "Five", spec, flags=())


def test_newer_client_sends_pulls_pushes_and_asks(lines: list[Line], servers: Servers) -> None:
    told: dict[str, list[Line]] = {}
    for line in lines:
        told.setdefault(line["event"], []).append(line)
    wanted = sorted(f"{how} {i}" for how in ("single", "batch") for i in range(COUNT))

    assert [line["text"] for line in told["sent"]] == ["SEND_OK"] * (COUNT + 1)
    assert sorted(line["text"] for line in told["pulled"]) == wanted
    assert sorted(line["text"] for line in told["pushed"]) == wanted
    tagged = sorted(f"{how} {i}" for how in ("single", "batch") for i in (1, 3))
    assert sorted(line["text"] for line in told["byTag"]) == tagged
    assert [line["text"] for line in told["bySql"]] == ["single 2"]
    route, clusters, topics, found, settings, status = told["mqadmin"]
    assert f'"{servers.broker.address}"' in route["text"]
    assert re.search(rf"broker-a +0 +{servers.broker.address} +V4_9_7", clusters["text"])
    assert "SCHEDULE_TOPIC_XXXX" in topics["text"].split()
    assert re.search(r"(?m)^[0-9A-F]{32,56} +\d+ +\d+", found["text"])
    assert re.search(r"brokerName += +broker-a", settings["text"])
    if servers.side == "ours":
        assert "broker-a" in status["text"]
        return
    # Newer tools ask with a code that brokers of 4.9 do not know, and ours does.
    assert "CODE: 3" in status["more"]
    assert "request type 351 not supported" in status["more"]
