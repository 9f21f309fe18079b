"""Header bytes, both serialisations, against recorded frames and against nonsense."""

import contextlib
import json
import random
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remoting.codes import LanguageCode, SerializeType
from remoting.command import Command
from remoting.errors import BadCall, BadFrame
from remoting.serialize import FIELDS_MAX, decode_header, encode_header
from storefmt.config.quoting import quote
from tests.remoting.captures import SETS, frames
from tests.storefmt.broken import every_flip

JSON, BINARY = SerializeType.JSON, SerializeType.ROCKETMQ
JAVA = (
    '{"code":34,"flag":0,"language":"JAVA","opaque":7,'
    '"serializeTypeCurrentRPC":"JSON","version":407}'
)


@pytest.mark.parametrize("name", SETS)
def test_recorded_headers_come_back(fact_tables: Path, name: str) -> None:
    for frame in frames(fact_tables, name):
        cmd = decode_header(frame.serialize, frame.header)
        again = encode_header(cmd)

        assert cmd.code == frame.code
        assert cmd.opaque == frame.opaque
        assert cmd.is_response == (frame.kind == "response")
        if frame.serialize == JSON:
            assert json.loads(again) == json.loads(frame.header), frame.pair
            # The probes were written by a script, all else by Java.
            assert again == frame.header or (name, frame.kind) == ("raw_probe", "request")
        else:
            assert decode_header(BINARY, again) == cmd


def test_binary_headers_without_repeated_keys_come_back_byte_for_byte(fact_tables: Path) -> None:
    same = 0
    for frame in frames(fact_tables, "rocketmq"):
        if frame.serialize == BINARY:
            same += encode_header(decode_header(BINARY, frame.header)) == frame.header

    # One client sent a null value, which is not written again.
    assert same == sum(frame.serialize == BINARY for frame in frames(fact_tables, "rocketmq")) - 1


def test_signed_binary_headers_repeat_keys_and_the_last_counts(fact_tables: Path) -> None:
    repeated = [
        frame
        for frame in frames(fact_tables, "acl")
        if frame.serialize == BINARY and frame.code in (310, 11)
    ]

    signed = [frame for frame in repeated if b"Signature" in frame.header]
    for frame in signed:
        again = encode_header(decode_header(BINARY, frame.header))
        assert len(again) < len(frame.header)
    assert len(signed) == 5
    assert len(repeated) == 6


def test_java_layout_is_written() -> None:
    cmd = decode_header(JSON, JAVA.encode())

    assert encode_header(cmd).decode() == JAVA
    cmd.ext, cmd.remark = {"z": "1", "a": "2"}, 'a "b"\n\x01\x0b\x7f\u2028/é'
    assert encode_header(cmd).decode() == (
        '{"code":34,"extFields":{"z":"1","a":"2"},"flag":0,"language":"JAVA","opaque":7,'
        '"remark":"a \\"b\\"\\n\\u0001\\u000B\\u007F\\u2028/é",'
        '"serializeTypeCurrentRPC":"JSON","version":407}'
    )


@pytest.mark.parametrize("rare", ["\x0b", "\x1f", "\x7f", "\x9f", "\u2028", "\\u000b"])
def test_ext_texts_are_spelled_as_fastjson_spells_them(rare: str) -> None:
    cmd = Command(code=1, ext={"k" + rare: "v\x01" + rare})

    written = encode_header(cmd).decode()

    assert f"{quote('k' + rare)}:{quote('v' + chr(1) + rare)}" in written
    assert decode_header(JSON, written.encode()).ext == cmd.ext


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ('"language":3,', LanguageCode.PYTHON),
        ('"language":"GO",', LanguageCode.GO),
        ('"language":"NODE_JS",', LanguageCode.OTHER),
        ('"language":99,', LanguageCode.OTHER),
        ('"language":true,', LanguageCode.OTHER),
        ('"language":null,', LanguageCode.JAVA),
        ("", LanguageCode.JAVA),
    ],
)
def test_language_is_read_by_name_or_number(text: str, language: LanguageCode) -> None:
    assert decode_header(JSON, f'{{"code":1,{text}"opaque":2}}'.encode()).language == language


def test_reading_is_as_lenient_as_fastjson() -> None:
    cmd = decode_header(
        JSON,
        b' {"opaque":"-5","code":34,"flag":null,"version":null,"x":[1,{"y":2}],"remark":null,'
        b'"extFields":{"i":5,"t":true,"f":false,"n":null,"d":1.5,"o":{"a":1},"s":"tab\there"}} ',
    )

    assert (cmd.code, cmd.opaque, cmd.flag, cmd.version, cmd.remark) == (34, -5, 0, 0, None)
    assert cmd.ext == {
        "i": "5",
        "t": "true",
        "f": "false",
        "d": "1.5",
        "o": '{"a":1}',
        "s": "tab\there",
    }


@pytest.mark.parametrize(
    ("text", "ext", "written"),
    [
        ('{"code":1,"opaque":2}', {}, False),
        ('{"code":1,"opaque":2,"extFields":null}', {}, False),
        ('{"code":1,"opaque":2,"extFields":{}}', {}, True),
    ],
)
def test_no_header_and_an_empty_one_are_told_apart(
    text: str, ext: dict[str, str], written: bool
) -> None:
    cmd = decode_header(JSON, text.encode())

    assert cmd.ext == ext
    assert cmd.ext_written == written
    assert (b"extFields" in encode_header(cmd)) is written


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "7",
        '"x"',
        "{",
        '{"code":1}',
        '{"opaque":1}',
        '{"code":null,"opaque":1}',
        '{"code":1.5,"opaque":1}',
        '{"code":true,"opaque":1}',
        '{"code":2147483648,"opaque":1}',
        '{"code":1,"opaque":-2147483649}',
        '{"code":"x","opaque":1}',
        '{"code":[1],"opaque":1}',
        '{"code":1,"opaque":1,"flag":{}}',
        '{"code":1,"opaque":1,"extFields":[]}',
        '{"code":1,"opaque":1,"extFields":"x"}',
        '{"code":NaN,"opaque":1}',
        '{"code":1,"opaque":1,"x":Infinity}',
        '{"code":' + "9" * 10_000 + ',"opaque":1}',
        '{"code":1,"opaque":1,"x":' + "[" * 100_000 + "}",
        '{"code":1,"opaque":1,"x":' + '{"a":' * 100_000,
        '{"code":1,"opaque":1,"remark":"\\ud800"}',
        '{"code":1,"opaque":1,"extFields":{"k":"\\udc00x"}}',
        '{"code":1,"opaque":1,"extFields":{"\\uD800":"x"}}',
    ],
)
def test_nonsense_is_a_bad_frame(text: str) -> None:
    with pytest.raises(BadFrame):
        decode_header(JSON, text.encode())


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("中文".encode("gbk"), "\ufffd\ufffd\ufffd\ufffd"),
        (b"a\xe4\xb8", "a\ufffd"),
        (b"\xed\xa0\x80b", "\ufffdb"),
        (b"\xed\xb85", "\ufffd5"),
        (b"\xf0\xed\xa2\x89", "\ufffd\ufffd"),
    ],
)
def test_bytes_that_are_no_utf8_are_read_as_in_java(data: bytes, text: str) -> None:
    header = b'{"code":1,"opaque":2,"remark":"%s","extFields":{"k":"%s"}}' % (data, data)
    for cmd in (
        decode_header(JSON, header),
        decode_header(BINARY, binary(data, pair(b"k", data))),
    ):
        assert cmd.remark == text
        assert cmd.ext == {"k": text}


def test_a_surrogate_pair_is_one_character() -> None:
    cmd = decode_header(JSON, b'{"code":1,"opaque":2,"remark":"\\ud83d\\ude00"}')

    assert cmd.remark == "\U0001f600"


@pytest.mark.parametrize("serialize", [2, 7, 255, -1])
def test_unknown_serialisation_is_a_bad_frame(serialize: int) -> None:
    with pytest.raises(BadFrame, match="serialisation byte"):
        decode_header(serialize, JAVA.encode())


ANSWER = (
    b'{"code":0,"extFields":{"queueId":"3","msgId":"7F"},"flag":1,"language":"JAVA","opaque":12,'
    b'"remark":"ok","serializeTypeCurrentRPC":"JSON","version":407}'
)


def outcome(data: bytes) -> Command | str:
    try:
        return decode_header(JSON, data)
    except BadFrame:
        return "bad frame"


def test_a_header_in_the_usual_layout_is_read_as_json_is() -> None:
    damaged = [ANSWER, ANSWER.replace(b'"queueId":"3","msgId":"7F"', b"")]
    damaged += [ANSWER[:at] + ANSWER[at + 1 :] for at in range(len(ANSWER))]
    for stray in (b'"', b",", b":", b"0", b"{", b"}", b" ", b"\\", b"-", b"\x01", "é".encode()):
        damaged += [ANSWER[:at] + stray + ANSWER[at:] for at in range(len(ANSWER))]

    for data in damaged:
        # A blank in front is no usual layout.
        assert outcome(data) == outcome(b" " + data), data


@pytest.mark.parametrize("name", SETS)
def test_recorded_headers_are_read_as_json_is(fact_tables: Path, name: str) -> None:
    for frame in frames(fact_tables, name):
        if frame.serialize == JSON:
            assert outcome(frame.header) == outcome(b" " + frame.header)


def binary(remark: bytes, ext: bytes, *, tail: bytes = b"") -> bytes:
    sizes = (len(remark), len(ext))
    head = struct.pack(">hbhii", 11, 0, 407, 9, 1)
    return head + struct.pack(">i", sizes[0]) + remark + struct.pack(">i", sizes[1]) + ext + tail


def pair(name: bytes, value: bytes) -> bytes:
    return struct.pack(">h", len(name)) + name + struct.pack(">i", len(value)) + value


def test_binary_last_of_a_repeated_key_counts_and_empty_reads_as_none() -> None:
    ext = pair(b"k", b"1") + pair(b"e", b"") + pair(b"k", b"2")

    cmd = decode_header(BINARY, binary(b"", ext))

    assert cmd.remark is None
    assert cmd.ext == {"k": "2"}


@pytest.mark.parametrize(
    "data",
    [
        binary(b"", pair(b"k", b"v"))[:-1],
        binary(b"", struct.pack(">h", -1)),
        binary(b"", struct.pack(">h", 30_000) + b"k"),
        binary(b"", struct.pack(">h", 1) + b"k" + struct.pack(">i", -1)),
        binary(b"", struct.pack(">h", 1) + b"k" + struct.pack(">i", 2**31 - 1)),
        binary(b"", b"\x00"),
        struct.pack(">hbhiii", 1, 0, 0, 0, 0, -1) + bytes(8),
        struct.pack(">hbhiii", 1, 0, 0, 0, 0, 2**31 - 1) + bytes(8),
        struct.pack(">hbhiiii", 1, 0, 0, 0, 0, 0, -5),
        struct.pack(">hbhiiii", 1, 0, 0, 0, 0, 0, 5),
        b"",
    ],
)
def test_hostile_binary_lengths_are_a_bad_frame(data: bytes) -> None:
    with pytest.raises(BadFrame):
        decode_header(BINARY, data)


@pytest.mark.parametrize("serialize", list(SerializeType))
def test_more_pairs_than_any_client_writes_are_a_bad_frame(serialize: SerializeType) -> None:
    most = Command(code=1, ext={str(n): "v" for n in range(FIELDS_MAX)}, serialize=serialize)
    taken = decode_header(serialize, encode_header(most))

    most.ext["one more"] = "v"

    assert len(taken.ext) == FIELDS_MAX
    with pytest.raises(BadFrame, match="1024"):
        decode_header(serialize, encode_header(most))


def test_headers_cut_at_each_byte_never_crash(fact_tables: Path) -> None:
    for name in ("json", "rocketmq"):
        frame = next(one for one in frames(fact_tables, name) if one.code in (310, 103, 17))
        for cut in range(len(frame.header)):
            with pytest.raises(BadFrame):
                decode_header(frame.serialize, frame.header[:cut])


def test_headers_with_a_bit_flipped_never_crash(fact_tables: Path) -> None:
    for name in ("json", "rocketmq"):
        frame = next(one for one in frames(fact_tables, name) if one.code in (310, 103, 17))
        for data in every_flip(frame.header):
            with contextlib.suppress(BadFrame):
                encode_header(decode_header(frame.serialize, data))


def test_random_bytes_never_crash() -> None:
    rng = random.Random(7)
    for _ in range(2_000):
        data = rng.randbytes(rng.randrange(60))
        for serialize in SerializeType:
            with contextlib.suppress(BadFrame):
                encode_header(decode_header(serialize, data))


@pytest.mark.parametrize(
    "cmd",
    [
        Command(code=40_000, serialize=BINARY),
        Command(code=1, version=2**15, serialize=BINARY),
        Command(code=1, language=200, serialize=BINARY),
        Command(code=1, opaque=2**31, serialize=BINARY),
        Command(code=1, ext={"k" * 40_000: "v"}, serialize=BINARY),
        Command(code=1, remark="\ud800"),
        Command(code=1, ext={"k": "\udfff"}, serialize=BINARY),
    ],
)
def test_what_does_not_fit_is_our_fault(cmd: Command) -> None:
    with pytest.raises(BadCall):
        encode_header(cmd)


TEXT = st.text(max_size=20)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    code=st.integers(-(2**15), 2**15 - 1),
    opaque=st.integers(-(2**31), 2**31 - 1),
    language=st.sampled_from(LanguageCode),
    remark=st.none() | TEXT,
    ext=st.dictionaries(TEXT, TEXT, max_size=5),
    serialize=st.sampled_from(SerializeType),
)
def test_any_command_comes_back(
    code: int,
    opaque: int,
    language: LanguageCode,
    remark: str | None,
    ext: dict[str, str],
    serialize: SerializeType,
) -> None:
    if serialize is BINARY:
        # Empty texts read back as null there.
        remark, ext = remark or None, {name: value for name, value in ext.items() if value}
    cmd = Command(
        code=code,
        opaque=opaque,
        language=language,
        remark=remark,
        ext=ext,
        serialize=serialize,
        ext_written=bool(ext),
    )

    assert decode_header(serialize, encode_header(cmd)) == cmd
