"""The compressed registration."""

import struct
import zlib
from pathlib import Path

import pytest

from remoting.bodies import RegisterBrokerBody, TopicConfigSerializeWrapper
from remoting.codes import RequestCode
from remoting.errors import BadBody
from remoting.headers import RegisterBroker
from remoting.serialize import decode_header
from storefmt.config.tables import DataVersion, TopicConfig
from tests.remoting.captures import frames

BODY = RegisterBrokerBody(
    topic_config_serialize_wrapper=TopicConfigSerializeWrapper(
        topic_config_table={
            "T": TopicConfig("T", 4, 8, 6),
            "%RETRY%g": TopicConfig("%RETRY%g", 1, 1, 6, "MULTI_TAG"),
        },
        data_version=DataVersion(1_700_000_000_000, 3),
    ),
    filter_server_list=["1.2.3.4:5"],
)


def test_both_ways() -> None:
    assert RegisterBrokerBody.decode_compressed(BODY.encode_compressed()) == BODY
    assert RegisterBrokerBody.decode(BODY.encode()) == BODY


def test_recorded_registrations_are_read(fact_tables: Path) -> None:
    seen = set()
    for name in ("json", "rocketmq", "acl"):
        for frame in frames(fact_tables, name):
            if frame.code != RequestCode.REGISTER_BROKER or frame.kind == "response":
                continue
            header = decode_header(frame.serialize, frame.header).header(RegisterBroker)
            if frame.body_cut:
                continue
            assert zlib.crc32(frame.body) & 0x7FFFFFFF == header.body_crc32
            read = (
                RegisterBrokerBody.decode_compressed
                if header.compressed
                else RegisterBrokerBody.decode
            )
            topics = read(frame.body).topic_config_serialize_wrapper.topic_config_table
            seen.add(header.compressed)
            assert all(name == topic.topic_name for name, topic in topics.items())
            if "BenchmarkTest" in topics:
                assert topics["BenchmarkTest"].read_queue_nums == 1024
    assert seen == {False, True}


def parts(*sized: bytes | int) -> bytes:
    return b"".join(
        struct.pack(">i", one) if isinstance(one, int) else struct.pack(">i", len(one)) + one
        for one in sized
    )


VERSION = b'{"counter":1,"timestamp":2}'


@pytest.mark.parametrize(
    "plain",
    [
        b"",
        parts(-1),
        parts(2**31 - 1),
        parts(VERSION),
        parts(VERSION, -1),
        parts(VERSION, 2**31 - 1),
        parts(VERSION, 1, b"T 1 1 6"),
        parts(VERSION, 1, b"T 1 x 6 SINGLE_TAG"),
        parts(VERSION, 1, b"T 1 1 6 SINGLE_TAG"),
        parts(VERSION, 0, b"{"),
        parts(b"[]", 0, b"[]"),
    ],
)
def test_hostile_parts_are_a_bad_body(plain: bytes) -> None:
    with pytest.raises(BadBody):
        RegisterBrokerBody.decode_compressed(zlib.compress(plain))


def test_a_stream_that_unfolds_too_far_is_refused_early() -> None:
    bomb = zlib.compress(bytes(10_000_000))

    with pytest.raises(BadBody, match="more than 1000 bytes"):
        RegisterBrokerBody.decode_compressed(bomb, size_max=1000)


def test_a_stream_cut_at_each_byte_is_a_bad_body() -> None:
    data = BODY.encode_compressed()

    for cut in range(len(data)):
        with pytest.raises(BadBody):
            RegisterBrokerBody.decode_compressed(data[:cut])


def test_filter_servers_that_are_no_list_are_none() -> None:
    plain = parts(VERSION, 0, b"{}")

    assert RegisterBrokerBody.decode_compressed(zlib.compress(plain)).filter_server_list == []
