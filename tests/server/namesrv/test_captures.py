"""Requests recorded before a real 4.9.7 name server get from ours what it answered.

The recording left out most registrations that a broker repeats or sends one-way, so the
real name server knew topics that the frames do not tell of: before such an answer is
compared, what it names is registered (``learn``). Everything else must be equal: code,
opaque, remark, header fields, and the body as an object.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqserver.namesrv import handlers
from mqserver.namesrv.routes import announce
from mqserver.runtime.registry import collect
from remoting.codes import RequestCode, SerializeType
from remoting.command import Command
from remoting.frame import RawFrame, decode_frame
from storefmt.config import fastjson
from storefmt.config.tables import DataVersion, TopicConfig
from tests.server.doubles import FakeConn
from tests.server.namesrv.desk import Desk, finished, registration

REFUSED_HERE = {"serverOnewaySemaphoreValue=255"}
"""Java accepts these settings from everyone; ours has no such key to change."""


def recorded(fact_tables: Path) -> Iterator[tuple[Command, dict, dict | None]]:
    """Yield request, its recorded frame and that of its answer, in their order."""
    frames: dict[int, list[dict]] = {}
    for path in sorted((fact_tables / "captures").glob("frames_*.jsonl")):
        for line in path.read_text().splitlines():
            frame = json.loads(line)
            if frame["role"] == "namesrv":
                frames.setdefault(frame["pair"], []).append(frame)
    for _, pair in sorted(frames.items()):
        (request,) = [frame for frame in pair if frame["kind"] != "response"]
        answers = [frame for frame in pair if frame["kind"] == "response"]
        yield decode_frame(raw(request)), request, answers[0] if answers else None


def raw(frame: dict) -> RawFrame:
    is_json = frame["serialize"] == "JSON"
    header = frame["header_raw"].encode() if is_json else bytes.fromhex(frame["header_raw"])
    serialize = SerializeType.JSON if is_json else SerializeType.ROCKETMQ
    return RawFrame(serialize, header, bytes.fromhex(frame["body_hex"]))


def as_objects(command: Command) -> tuple:
    body = fastjson.loads(command.body) if command.body else None
    # Java sets and maps: their order is that of its hash tables.
    if isinstance(body, dict):
        for key in ("topicList", "brokerDatas", "queueDatas"):
            if key in body:
                body[key] = sorted(body[key], key=json.dumps)
    return command.code, command.opaque, command.remark, command.ext, body


def learn(desk: Desk, request: Command, answer: Command) -> None:
    """Register what the real name server knew from registrations that were not recorded."""
    body = fastjson.loads(answer.body) if answer.body else {}
    if request.code == RequestCode.GET_ROUTEINFO_BY_TOPIC:
        addresses = {b["brokerName"]: b for b in body.get("brokerDatas", [])}
        for queue in body.get("queueDatas", []):
            name = queue["brokerName"]
            values = list(addresses[name]["brokerAddrs"].values())
            topic = TopicConfig(
                request.ext["topic"], queue["readQueueNums"], queue["writeQueueNums"], queue["perm"]
            )
            register(desk, name, addresses[name]["cluster"], values[0], topic)
    elif request.code == RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER:
        for name in body["topicList"]:
            if name not in desk.state.routes.topics().topic_list:
                register(desk, "hfct-a", "HFCT_CLUSTER", "127.0.0.1:15911", TopicConfig(name))
    elif request.code == RequestCode.QUERY_DATA_VERSION and body:
        version = DataVersion.from_json(body)
        register(desk, "hfct-a", "HFCT_CLUSTER", "127.0.0.1:15911", None, version)


def register(desk, name, cluster, address, topic, version=None) -> None:
    known = desk.state.routes.data_version(address) or DataVersion()
    broker = registration(
        address, broker_name=name, cluster_name=cluster, ha_server_addr="127.0.0.1:15912"
    )
    topics = announce({} if topic is None else {topic.topic_name: topic})
    version = version or DataVersion(known.timestamp_ms, known.counter + 1)
    finished(desk.state.routes.register(broker, topics, version, conn_id=1, now_ms=0))


@pytest.fixture(scope="module")
def exchanges(fact_tables: Path, tmp_path_factory) -> list[tuple[dict, Command, Command | None]]:
    """Return recorded frame, recorded answer and our answer of every exchange."""
    desk = Desk(tmp_path_factory.mktemp("captures"))
    found = []
    for request, frame, answered in recorded(fact_tables):
        if answered is None:
            assert desk.frame(raw(frame)) is None or request.code == 319
            continue
        expected = decode_frame(raw(answered))
        learn(desk, request, expected)
        found.append((frame, expected, desk.frame(raw(frame))))
    return found


def test_every_recorded_request_is_answered_as_java_did(exchanges) -> None:
    different = []
    for frame, expected, ours in exchanges:
        assert ours is not None, frame["pair"]
        if bytes.fromhex(frame["body_hex"]).decode("latin-1").strip() in REFUSED_HERE:
            assert ours.code == 16
        elif as_objects(ours) != as_objects(expected):
            different.append((frame["pair"], as_objects(ours), as_objects(expected)))

    assert different == []
    assert len(exchanges) >= 75


def test_answers_come_in_the_serialisation_java_used(exchanges) -> None:
    assert all(ours.serialize == expected.serialize for _, expected, ours in exchanges)


def test_route_bodies_are_the_bytes_of_java_where_nothing_is_a_hash_table(exchanges) -> None:
    compared = [
        (ours.body, expected.body)
        for frame, expected, ours in exchanges
        if frame["code"] == RequestCode.GET_ROUTEINFO_BY_TOPIC and expected.body.count(b"perm") == 1
    ]

    assert len(compared) > 5
    assert all(ours == java for ours, java in compared)


def test_every_code_of_a_java_name_server_has_a_handler(fact_tables: Path) -> None:
    request_map = json.loads((fact_tables / "request_map.json").read_text())
    java = {r["code"] for r in request_map["codes"].values() if "namesrv" in r["handledBy"]}

    assert collect(handlers).codes() == java


def test_no_flipped_bit_of_a_recorded_request_stops_the_name_server(fact_tables, tmp_path) -> None:
    desk = Desk(tmp_path)
    for _, frame, _ in recorded(fact_tables):
        whole = raw(frame)
        # Every 29th bit: all header bytes are hit in one frame or the other.
        for bit in range(frame["pair"] % 29, len(whole.header) * 8, 29):
            header = bytearray(whole.header)
            header[bit // 8] ^= 1 << bit % 8
            conn = FakeConn()
            answer = desk.frame(whole._replace(header=bytes(header)), conn)
            assert answer is None or answer.is_response

    assert desk.ask(RequestCode.GET_BROKER_CLUSTER_INFO).code == 0
