"""Registration over the wire: checks, forms of the body, versions, permissions."""

import zlib

import pytest

from remoting.bodies import (
    RegisterBrokerBody,
    TopicConfigSerializeWrapper,
    decode_value,
    encode_value,
)
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import QueryDataVersion, UnRegisterBroker
from storefmt.config.tables import DataVersion, TopicConfig
from tests.server.doubles import FakeConn
from tests.server.namesrv.desk import Desk, registration

WRAPPER = TopicConfigSerializeWrapper(
    topic_config_table={"T": TopicConfig("T", 4, 4)}, data_version=DataVersion(1000, 3)
)
BODY = RegisterBrokerBody(topic_config_serialize_wrapper=WRAPPER)
ADDRESS = "10.0.0.1:10911"
EPOCH = "1000"
"""An epoch before the clock of these tests."""


def register(
    desk: Desk, *, body: bytes = BODY.encode(), version=407, conn=None, ext=None, **changes: object
) -> Command:
    return desk.ask(
        RequestCode.REGISTER_BROKER,
        registration(**changes),
        body=body,
        version=version,
        conn=conn,
        ext=ext,
    )


def ask_version(desk: Desk, version: DataVersion) -> Command:
    """Ask whether the topics of a broker are of another version."""
    header = QueryDataVersion(broker_name="a", broker_addr=ADDRESS, cluster_name="C", broker_id=0)
    return desk.ask(RequestCode.QUERY_DATA_VERSION, header, body=encode_value(version))


@pytest.mark.parametrize(
    ("body", "compressed", "version"),
    [
        (BODY.encode(), False, 407),
        (BODY.encode_compressed(), True, 407),
        (WRAPPER.encode(), False, 36),
    ],
)
def test_every_form_of_the_body_registers_the_topics(desk, body, compressed, version) -> None:
    crc = zlib.crc32(body) & 0x7FFFFFFF

    answer = register(desk, body=body, compressed=compressed, version=version, body_crc32=crc)

    assert answer.code == 0
    assert answer.body == b""
    assert desk.state.routes.topics().topic_list == ["T"]
    assert desk.state.routes.data_version(ADDRESS) == DataVersion(1000, 3)


def test_a_wrong_crc_is_refused_and_nothing_registered(desk: Desk) -> None:
    answer = register(desk, body_crc32=5)

    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "crc32 not match")
    assert desk.state.routes.data_version(ADDRESS) is None


def test_without_a_body_the_broker_is_alive_and_has_no_topics(desk: Desk) -> None:
    assert register(desk, body=b"").code == 0

    assert desk.state.routes.data_version(ADDRESS) == DataVersion(0, 0)


@pytest.mark.parametrize("cut", range(0, 200, 7))
@pytest.mark.parametrize("compressed", [False, True])
def test_a_cut_body_is_answered_with_code_1(desk: Desk, cut: int, compressed: bool) -> None:
    whole = BODY.encode_compressed() if compressed else BODY.encode()
    body = whole[: max(1, cut % len(whole))]

    answer = register(desk, body=body, compressed=compressed)

    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark
    assert desk.state.routes.topics().topic_list == []


def test_a_flipped_bit_never_breaks_the_name_server(desk: Desk) -> None:
    whole = BODY.encode_compressed()
    for index in range(len(whole) * 8):
        body = bytearray(whole)
        body[index // 8] ^= 1 << index % 8
        assert register(desk, body=bytes(body), compressed=True).code in (0, 1)
        assert not desk.conn.is_closing


def test_a_bad_broker_name_is_refused_with_its_text(desk: Desk) -> None:
    answer = register(desk, broker_name=" ")

    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "broker name is ' '" in (answer.remark or "")


def test_a_missing_field_is_named(desk: Desk) -> None:
    answer = desk.ask(RequestCode.REGISTER_BROKER, ext={"brokerName": "a"})

    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "brokerAddr" in (answer.remark or "")


def test_order_topics_come_with_the_answer(desk: Desk) -> None:
    desk.state.kv.set_value("ORDER_TOPIC_CONFIG", "T", "a:4")

    assert register(desk).body == b'{"table":{"T":"a:4"}}'


def test_a_slave_learns_its_master(desk: Desk) -> None:
    register(desk)

    answer = register(desk, body=b"", broker_id=1, broker_addr="10.0.0.2:10911")

    assert answer.ext == {"masterAddr": ADDRESS, "haServerAddr": "10.0.0.1:10912"}


def test_unregister_takes_the_topics_away(desk: Desk) -> None:
    register(desk)

    goodbye = UnRegisterBroker(broker_name="a", broker_addr=ADDRESS, cluster_name="C", broker_id=0)
    assert desk.ask(RequestCode.UNREGISTER_BROKER, goodbye).code == 0

    assert desk.state.routes.route("T") is None


def test_a_closed_connection_takes_its_broker_along(desk: Desk) -> None:
    conn = FakeConn(9)
    register(desk, conn=conn)

    desk.state.connection_closed(conn)

    assert desk.state.routes.route("T") is None
    assert desk.state.broker_conns == {}


def test_a_silent_broker_is_dropped_and_its_connection_closed(desk: Desk) -> None:
    register(desk)

    desk.state.expire(desk.clock.ms + 120_000)
    alive = desk.conn.is_closing
    desk.state.expire(desk.clock.ms + 120_001)

    assert (alive, desk.conn.is_closing) == (False, True)
    assert desk.state.routes.route("T") is None


def test_an_unchanged_version_keeps_a_broker_alive(desk: Desk) -> None:
    register(desk)
    desk.clock.ms += 100_000

    same = ask_version(desk, WRAPPER.data_version)
    other = ask_version(desk, DataVersion(1, 1))

    assert (same.ext, other.ext) == ({"changed": "false"}, {"changed": "true"})
    assert decode_value(DataVersion, other.body) == DataVersion(1000, 3)
    assert desk.state.routes.expire(desk.clock.ms + 100_000) == []


@pytest.mark.parametrize(
    ("code", "field", "perm"),
    [
        (RequestCode.WIPE_WRITE_PERM_OF_BROKER, "wipeTopicCount", 4),
        (RequestCode.ADD_WRITE_PERM_OF_BROKER, "addTopicCount", 6),
    ],
)
def test_permissions_of_a_broker(desk: Desk, code: int, field: str, perm: int) -> None:
    register(desk)

    answer = desk.ask(code, ext={"brokerName": "a"})

    assert answer.ext == {field: "1"}
    assert desk.state.routes.route("T").queue_datas[0].perm == perm


def test_epoch_of_a_promotion_is_told_to_brokers_and_keeps_the_old_master_out(desk: Desk) -> None:
    before = register(desk)

    told = {"haEpoch": EPOCH, "haEpochProof": "admin:0a"}
    taken = register(desk, ext=told, broker_addr="10.0.0.2:10911")
    refused = register(desk)
    asked = ask_version(desk, DataVersion(1000, 3))

    # Where nobody was promoted the answer is Java's.
    assert "haEpoch" not in before.ext
    assert (taken.code, taken.ext["haEpoch"]) == (0, EPOCH)
    # Brokers with accounts check the proof; a name server has none.
    assert taken.ext["haEpochProof"] == "admin:0a"
    assert (refused.code, refused.ext["haEpoch"]) == (1, EPOCH)
    assert "another master was promoted" in (refused.remark or "")
    assert asked.ext["haEpoch"] == EPOCH


@pytest.mark.parametrize("text", ["-1", "x", "9999999999999999999999"])
def test_epoch_that_is_none_registers_nothing(desk: Desk, text: str) -> None:
    answer = register(desk, ext={"haEpoch": text})

    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert desk.state.routes.topics().topic_list == []
