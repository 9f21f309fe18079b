"""The short way to read a pull says what the general path says, or nothing."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqserver.broker.pull.pull_header import Pull
from remoting.codes import SerializeType
from remoting.command import Command
from remoting.errors import RemotingError
from remoting.headers import PullMessage
from remoting.serialize import decode_header, encode_header
from tests.remoting.captures import SETS, frames
from tests.twins import compiled, needs_kernel

COMPILED = compiled("parse_pull_compiled")
pytestmark = needs_kernel("parse_pull_compiled")

EXT = {
    "consumerGroup": "g", "topic": "T", "queueId": "3", "queueOffset": "77", "maxMsgNums": "32",
    "sysFlag": "6", "commitOffset": "5", "suspendTimeoutMillis": "15000", "subscription": "A || B",
    "subVersion": "1700000000000", "expressionType": "TAG", "bname": "broker-a",
}  # fmt: skip
TOP = {"code": 11, "flag": 0, "language": "JAVA", "opaque": 9, "version": 407}


def general(serialize: int, header: bytes) -> Pull | None:
    """Return what the general path reads, None if it refuses the header or it is no pull."""
    try:
        cmd = decode_header(serialize, header)
        if cmd.code != 11 or cmd.is_response:
            return None
        typed = cmd.header(PullMessage)
    except RemotingError:
        return None
    named = {name: getattr(typed, name) for name in Pull._fields[3:]}
    return Pull(code=cmd.code, opaque=cmd.opaque, is_oneway=cmd.is_oneway, **named)


def is_alike_or_left(serialize: int, header: bytes) -> bool:
    """Compare the two ways; return whether the short one took the header."""
    found = COMPILED(serialize, header)
    if found is None:
        return False
    assert type(found) is Pull
    assert found == general(serialize, header)
    return True


def json_of(ext: dict[str, object], **top: object) -> bytes:
    return json.dumps({**TOP, "extFields": ext, **top}, separators=(",", ":")).encode()


def binary_of(ext: dict[str, str], **top: int) -> bytes:
    cmd = Command(11, top.get("opaque", 9), top.get("flag", 0), ext=ext)
    cmd.code, cmd.serialize = top.get("code", 11), SerializeType.ROCKETMQ
    return encode_header(cmd)


def test_recorded_pulls_are_taken(fact_tables: Path) -> None:
    pulls = [
        frame
        for name in SETS
        for frame in frames(fact_tables, name)
        if frame.kind != "response" and frame.code == 11
    ]

    taken = [one for one in pulls if is_alike_or_left(one.serialize, one.header)]

    assert len(taken) == len(pulls) > 26
    assert {one.serialize for one in taken} == {0, 1}


@pytest.mark.parametrize("subscription", ["A || B", None])
def test_keys_in_any_order_are_taken_in_both_serialisations(subscription: str | None) -> None:
    print("seed 5")
    chance = random.Random(5)
    ext = {name: text for name, text in EXT.items() if text != "A || B" or subscription}

    for _ in range(200):
        pairs = dict(chance.sample(list(ext.items()), len(ext)))
        top = list({**TOP, "extFields": pairs, "serializeTypeCurrentRPC": "JSON"}.items())
        header = json.dumps(dict(chance.sample(top, len(top))), indent=chance.choice([None, 1]))
        assert is_alike_or_left(0, header.encode())
        assert is_alike_or_left(1, binary_of(pairs))


def test_headers_of_other_clients_are_taken() -> None:
    in_go = (
        b'{"code":11,"language":"GO","version":317,"opaque":2147483647,"flag":0,"remark":"",'
        b'"extFields":' + json.dumps(EXT).encode() + b"}"
    )
    numbers = {name: int(EXT[name]) for name in ("queueId", "maxMsgNums", "sysFlag")}
    in_cpp = json_of({**EXT, **numbers}, language="CPP", remark="") + b"\n"

    assert is_alike_or_left(0, in_go)
    assert is_alike_or_left(0, in_cpp)
    assert is_alike_or_left(0, json_of(EXT).replace(b'"T"', '"é中"'.encode()))


def test_of_pairs_with_one_key_the_last_counts() -> None:
    # Java's signed requests in the serialisation ROCKETMQ have most keys twice.
    twice = binary_of(EXT)[21:] + binary_of({**EXT, "topic": "U"})[21:]
    header = binary_of(EXT)[:17] + len(twice).to_bytes(4, "big") + twice

    assert COMPILED(1, header).topic == "U"
    assert is_alike_or_left(1, header)
    assert is_alike_or_left(0, json_of(EXT).replace(b'"topic":"T"', b'"topic":"T","topic":"U"'))


LEFT = [
    json_of(EXT)[:-1],
    json_of(EXT) + b"x",
    json_of(EXT, code=310),
    json_of(EXT, code="11"),
    json_of(EXT, code=11.0),
    json_of(EXT, opaque=1 << 31),
    json_of(EXT, flag=1),
    json_of(EXT, opaque=None),
    json_of(EXT, version="407"),
    json_of(EXT, language=12),
    json_of(EXT, extFields=[EXT]),
    json_of(EXT, other={"a": 1}),
    json_of({**EXT, "topic": "a\\b"}),
    json_of({**EXT, "topic": None}),
    json_of({**EXT, "topic": True}),
    json_of({**EXT, "topic": {"queueId": "4"}}),
    json_of({**EXT, "queueId": ""}),
    json_of({**EXT, "queueId": "-"}),
    json_of({**EXT, "queueId": " 1"}),
    json_of({**EXT, "queueId": "2147483648"}),
    json_of({**EXT, "queueId": 1.5}),
    json_of({**EXT, "queueOffset": "9" * 19}),
    json_of({**EXT, **{f"k{number}": "" for number in range(100)}}),
    json_of(EXT).replace(b'"code":11', b'"code":011'),
    json_of(EXT).replace(b'"code":11', b'"code":-0'),
    json_of(EXT).replace(b'"code":11', b'"code":11,"code":11'),
    json_of(EXT).replace(b'"topic":"T",', b''),
    json_of(EXT).replace(b'"T"', b'"\xff"'),
    json_of(EXT).replace(b'"T"', b'"\xed\xa0\x80"'),
    b"", b"{", b"{}", b'{"code":11}', b'{"code":11,"opaque":1}', b"[]", b'{"code"', b'{"code":',
]  # fmt: skip


@pytest.mark.parametrize("header", LEFT)
def test_what_is_rare_or_wrong_in_json_is_left(header: bytes) -> None:
    assert COMPILED(0, header) is None


@pytest.mark.parametrize(
    "header",
    [
        binary_of(EXT)[:-1],
        binary_of(EXT) + b"x",
        binary_of(EXT, code=310),
        binary_of(EXT, flag=1),
        binary_of({**EXT, "topic": ""}),
        binary_of({**EXT, "queueId": "x"}),
        binary_of(EXT)[:21] + b"\xff\xff" + binary_of(EXT)[23:],
        binary_of(EXT).replace(b"\x00\x00\x00\x01T", b"\xff\xff\xff\xffT"),
        binary_of(EXT)[:13] + b"\x00\x00\x00\x01" + binary_of(EXT)[17:],
        b"\x00\x0b",
        b"",
    ],
)
def test_what_is_rare_or_wrong_in_binary_is_left(header: bytes) -> None:
    assert COMPILED(1, header) is None
    assert COMPILED(2, binary_of(EXT)) is None


@pytest.mark.parametrize("serialize", [0, 1])
def test_header_cut_or_flipped_is_read_alike_or_left(serialize: int) -> None:
    header = binary_of(EXT) if serialize else json_of(EXT)
    damaged = [header[:cut] for cut in range(len(header))]
    for at in range(len(header) * 8):
        data = bytearray(header)
        data[at // 8] ^= 1 << at % 8
        damaged.append(bytes(data))

    taken = [data for data in damaged if is_alike_or_left(serialize, data)]

    assert 0 < len(taken) < len(damaged)


HOSTILE = st.one_of(
    st.text(max_size=10),
    st.text(st.sampled_from('a\x01\x02"\\{}:,\x00\x1f\x7f\u2028é中\U0001f600'), max_size=10),
    st.sampled_from(["-0", "+5", "007", "1" * 18, "1" * 19, "\u0663", "-", "2147483648"]),
)
VALUES = st.one_of(HOSTILE, st.integers(-(2**64), 2**64), st.sampled_from([None, True, 0.5, []]))


@settings(max_examples=600, deadline=None, derandomize=True)
@given(
    changes=st.dictionaries(st.sampled_from(list(EXT)) | HOSTILE, VALUES, max_size=3),
    top=st.dictionaries(st.sampled_from([*TOP, "remark", "x"]), VALUES, max_size=2),
    escape=st.booleans(),
)
def test_any_header_is_read_alike_or_left(
    changes: dict[str, object], top: dict[str, object], *, escape: bool
) -> None:
    fields = {**TOP, "extFields": {**EXT, **changes}, **top}
    texts = {name: str(value) for name, value in {**EXT, **changes}.items() if value}

    is_alike_or_left(0, json.dumps(fields, ensure_ascii=escape).encode())
    is_alike_or_left(1, binary_of(texts))
