"""The kernels say what the general path says, or nothing."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remoting.codes import FLAG_ONEWAY, FLAG_RESPONSE, LanguageCode
from remoting.command import Command
from remoting.errors import BadFrame, BadHeader
from remoting.fast_path import (
    _FRONTS,
    Pull,
    SendV2,
    parse_pull,
    parse_send_v2,
)
from remoting.headers import PullMessage, SendMessageV2
from remoting.serialize import decode_header, encode_header
from tests.remoting.captures import SETS, frames

SENDS = (310, 320, 325)


def general_send(header: bytes) -> SendV2:
    cmd = decode_header(0, header)
    typed = cmd.header(SendMessageV2)
    named = {name: getattr(typed, name) for name in SendV2._fields[3:]}
    return SendV2(code=cmd.code, opaque=cmd.opaque, is_oneway=cmd.is_oneway, **named)


def general_pull(header: bytes) -> Pull:
    cmd = decode_header(0, header)
    typed = cmd.header(PullMessage)
    named = {name: getattr(typed, name) for name in Pull._fields[3:]}
    return Pull(code=cmd.code, opaque=cmd.opaque, is_oneway=cmd.is_oneway, **named)


@dataclass
class Tally:
    """How many headers the kernels took, of how many."""

    taken: int = 0
    seen: int = 0


def test_recorded_headers_are_read_alike(shared: Path) -> None:
    sends, pulls = Tally(), Tally()
    for name in SETS:
        for frame in frames(shared, name):
            if frame.serialize or frame.kind == "response":
                continue
            send, pull = parse_send_v2(frame.header), parse_pull(frame.header)
            if frame.code in SENDS:
                sends.seen += 1
                if send is not None:
                    sends.taken += 1
                    assert send == general_send(frame.header)
            elif frame.code == 11:
                pulls.seen += 1
                if pull is not None:
                    pulls.taken += 1
                    assert pull == general_pull(frame.header)
            else:
                assert (send, pull) == (None, None)

    # Left to the general path: signed ones, and those of a script in its own layout.
    assert (sends, pulls) == (Tally(19, 25), Tally(19, 26))


# Texts that must not fool an expression: quotes, escapes, separators, what ends a field.
HOSTILE = st.one_of(
    st.text(max_size=10),
    st.text(st.sampled_from('a\x01\x02"\\{}:,\x00\x1f\x7f\u2028é中\U0001f600'), max_size=10),
    st.sampled_from(['","e":"', '","j":"0', "\\", '\\",', '"},"flag":0', "\\u0001"]),
)
INT32 = st.one_of(st.integers(0, 40), st.integers(-(2**31), 2**31 - 1))
INT64 = st.one_of(st.integers(0, 40), st.integers(-(2**63), 2**63 - 1))


def request_bytes(code: int, header: SendMessageV2 | PullMessage, opaque: int, flag: int) -> bytes:
    cmd = Command.request(code, header)
    cmd.opaque, cmd.flag, cmd.language = opaque, flag, LanguageCode.JAVA
    if code == 11:
        order = (
            "queueId,maxMsgNums,sysFlag,commitOffset,subscription,ReqT,suspendTimeoutMillis,"
            "bname,topic,queueOffset,expressionType,subVersion,consumerGroup"
        )
        if "subscription" not in cmd.ext:
            order = (
                "queueId,maxMsgNums,sysFlag,suspendTimeoutMillis,commitOffset,bname,topic,"
                "queueOffset,expressionType,subVersion,consumerGroup"
            )
        cmd.ext = {**cmd.ext, "ReqT": "0"}
        cmd.ext = {name: cmd.ext[name] for name in order.split(",") if name in cmd.ext}
    return encode_header(cmd)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    code=st.sampled_from(SENDS),
    opaque=st.integers(0, 2**31 - 1),
    flag=st.sampled_from([0, FLAG_ONEWAY, FLAG_RESPONSE]),
    header=st.builds(
        SendMessageV2,
        producer_group=HOSTILE,
        topic=HOSTILE,
        default_topic=st.just("TBW102") | HOSTILE,
        default_topic_queue_nums=INT32,
        queue_id=INT32,
        sys_flag=INT32,
        born_timestamp=INT64,
        flag=INT32,
        properties=st.none() | HOSTILE,
        reconsume_times=st.none() | INT32,
        unit_mode=st.booleans(),
        max_reconsume_times=st.none() | INT32,
        batch=st.booleans(),
        broker_name=st.none() | HOSTILE,
        rpc_broker_name=st.none(),
    ),
)
def test_any_send_is_read_alike_or_left(
    code: int, opaque: int, flag: int, header: SendMessageV2
) -> None:
    data = request_bytes(code, header, opaque, flag)

    send = parse_send_v2(data)

    assert send is None or send == general_send(data)
    if flag == FLAG_RESPONSE:
        assert send is None


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    opaque=st.integers(0, 2**31 - 1),
    flag=st.sampled_from([0, FLAG_ONEWAY, FLAG_RESPONSE]),
    header=st.builds(
        PullMessage,
        consumer_group=HOSTILE,
        topic=HOSTILE,
        queue_id=INT32,
        queue_offset=INT64,
        max_msg_nums=INT32,
        sys_flag=INT32,
        commit_offset=INT64,
        suspend_timeout_millis=INT64,
        subscription=st.none() | HOSTILE,
        sub_version=INT64,
        expression_type=st.just("TAG") | HOSTILE,
        broker_name=st.none() | HOSTILE,
    ),
)
def test_any_pull_is_read_alike_or_left(opaque: int, flag: int, header: PullMessage) -> None:
    data = request_bytes(11, header, opaque, flag)

    pull = parse_pull(data)

    assert pull is None or pull == general_pull(data)
    if flag == FLAG_RESPONSE:
        assert pull is None


def test_a_plain_header_is_taken() -> None:
    data = request_bytes(
        310,
        SendMessageV2(
            producer_group="g",
            topic="t",
            default_topic="TBW102",
            default_topic_queue_nums=4,
            queue_id=-1,
            sys_flag=0,
            born_timestamp=1_700_000_000_000,
            flag=0,
            properties='KEYS\x01a "b" \\ \n\x02TAGS\x01é',
            reconsume_times=0,
            max_reconsume_times=16,
            broker_name="b",
        ),
        5,
        FLAG_ONEWAY,
    )

    send = parse_send_v2(data)

    # A quote in the properties is the general path's.
    assert send is None
    plain = data.replace(b'\\"', b"'")
    assert parse_send_v2(plain) == general_send(plain)


@pytest.mark.parametrize("code", [310, 11])
def test_a_header_cut_or_flipped_is_read_alike_or_left(shared: Path, code: int) -> None:
    kernel = parse_pull if code == 11 else parse_send_v2
    general = general_pull if code == 11 else general_send
    header = next(one.header for one in frames(shared, "json") if one.code == code)
    damaged = [header[:cut] for cut in range(len(header))]
    for at in range(len(header) * 8):
        data = bytearray(header)
        data[at // 8] ^= 1 << at % 8
        damaged.append(bytes(data))

    for data in damaged:
        found = kernel(data)
        if found is not None:
            assert found == general(data)


@pytest.mark.parametrize(
    "properties", ["\\ud800", "\\uDC00x", "\\u12", "\\q", "\\", "\x01", "a\\u0001b"]
)
def test_odd_escapes_are_read_alike_or_left(shared: Path, properties: str) -> None:
    header = next(one.header for one in frames(shared, "json") if one.code == 310).decode()
    before, rest = header.split('"i":"')
    odd = f'{before}"i":"{properties}","j"{rest.split(chr(34) + "," + chr(34) + "j" + chr(34))[1]}'

    send = parse_send_v2(odd.encode())

    try:
        assert send is None or send == general_send(odd.encode())
    except (BadFrame, BadHeader):
        pytest.fail(f"the kernel takes {properties!r}, the general path does not")


@pytest.mark.parametrize("name", ["a\\-b", "\\ud800", "\\", "a\\u0041"])
def test_escapes_in_a_broker_name_are_the_general_paths(shared: Path, name: str) -> None:
    header = next(one.header for one in frames(shared, "json") if one.code == 310)
    plain = re.sub(rb',"n":"[^"]*"', b"", header).replace(b'"m":"false"', b'"m":"false","n":"%s"')

    assert parse_send_v2(plain % b"broker-a") is not None
    assert parse_send_v2(plain % name.encode()) is None


def test_made_up_names_do_not_fill_memory(shared: Path) -> None:
    header = next(one.header for one in frames(shared, "json") if one.code == 310)

    for number in range(10_000):
        assert parse_send_v2(header.replace(b'"HFCT_T1"', b'"T%d"' % number)) is not None

    assert len(_FRONTS) <= 4_096
