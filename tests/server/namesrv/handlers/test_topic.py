"""Routes over the wire: both JSON styles, order topics, unknown topics."""

import json

import pytest

from mqserver.namesrv.routes import announce
from remoting.codes import RequestCode, ResponseCode
from storefmt.config.tables import DataVersion, TopicConfig
from tests.server.namesrv.desk import Desk, finished, registration


@pytest.fixture
def desk(desk: Desk) -> Desk:
    topics, version = announce({"T": TopicConfig("T", 4, 4)}), DataVersion(1, 1)
    finished(desk.state.routes.register(registration(), topics, version, conn_id=1, now_ms=0))
    return desk


@pytest.mark.parametrize(
    ("version", "ext", "is_strict"),
    [
        (400, {}, False),
        (401, {}, True),
        (493, {}, True),
        (0, {"acceptStandardJsonOnly": "true"}, True),
        (0, {"acceptStandardJsonOnly": "false"}, False),
        (0, {"acceptStandardJsonOnly": "nonsense"}, False),
    ],
)
def test_the_json_style_follows_version_and_wish(desk, version, ext, is_strict) -> None:
    answer = desk.ask(
        RequestCode.GET_ROUTEINFO_BY_TOPIC, ext={"topic": "T", **ext}, version=version
    )

    assert (b'{"0":"10.0.0.1:10911"}' in answer.body) == is_strict
    assert (b'{0:"10.0.0.1:10911"}' in answer.body) == (not is_strict)


@pytest.mark.parametrize(("ext", "name"), [({"topic": "nowhere"}, "nowhere"), ({}, "null")])
def test_an_unknown_topic_gets_code_17_and_javas_text(desk: Desk, ext, name: str) -> None:
    answer = desk.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext=ext)

    assert answer.code == ResponseCode.TOPIC_NOT_EXIST
    assert answer.remark == (
        f"No topic route info in name server for the topic: {name}\n"
        "See http://rocketmq.apache.org/docs/faq/ for further details."
    )


@pytest.mark.parametrize("enabled", [True, False])
def test_order_configuration_is_in_the_route_only_when_enabled(desk: Desk, enabled: bool) -> None:
    desk.state.kv.set_value("ORDER_TOPIC_CONFIG", "T", "a:4")
    desk.state.config.order_message_enable = enabled

    answer = desk.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext={"topic": "T"})

    assert json.loads(answer.body).get("orderTopicConf") == ("a:4" if enabled else None)


def test_cluster_info_has_bare_keys_for_everyone(desk: Desk) -> None:
    answer = desk.ask(RequestCode.GET_BROKER_CLUSTER_INFO, version=493)

    assert b'{0:"10.0.0.1:10911"}' in answer.body


def test_delete_topic_takes_the_route(desk: Desk) -> None:
    desk.ask(RequestCode.DELETE_TOPIC_IN_NAMESRV, ext={"topic": "T", "clusterName": "other"})
    assert desk.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext={"topic": "T"}).code == 0

    desk.ask(RequestCode.DELETE_TOPIC_IN_NAMESRV, ext={"topic": "T"})

    assert desk.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext={"topic": "T"}).code == 17


def test_list_that_fits_into_no_frame_is_an_error_with_a_hint(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mqserver.runtime.request.FRAME_SIZE_MAX", 65_536)

    answer = desk.ask(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)

    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "the limit of a frame is 65536; ask for less" in (answer.remark or "")
