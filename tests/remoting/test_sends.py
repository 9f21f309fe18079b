"""Sends are written, and their answers read, as the general path does it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remoting.codes import LanguageCode
from remoting.command import Command
from remoting.errors import BadCall
from remoting.fast_path import SendFrames, Stored, read_stored, send_v2_ext
from remoting.frame import RawFrame, decode_frame, encode_frame
from remoting.headers import SendMessageResponse, SendMessageV2
from storefmt.formats.properties import MSG_REGION, TRACE_ON
from tests.remoting.captures import SETS, frames

EXT = {
    "queueId": "3",
    TRACE_ON: "true",
    MSG_REGION: "DefaultRegion",
    "msgId": "7F00000100002A9F0000000000000000",
    "queueOffset": "17",
}


@given(
    texts=st.tuples(*[st.text(max_size=20)] * 5),
    numbers=st.tuples(*[st.integers(-(2**31), 2**31 - 1)] * 4),
    born_ms=st.integers(0, 2**63 - 1),
    marks=st.tuples(st.booleans(), st.booleans()),
)
def test_written_send_equals_the_typed_header(
    texts: tuple[str, ...], numbers: tuple[int, ...], born_ms: int, marks: tuple[bool, bool]
) -> None:
    group, topic, default_topic, properties, broker_name = texts
    queue_nums, queue_id, sys_flag, flag = numbers
    fields = {
        "producer_group": group,
        "topic": topic,
        "default_topic": default_topic,
        "default_topic_queue_nums": queue_nums,
        "queue_id": queue_id,
        "sys_flag": sys_flag,
        "flag": flag,
        "properties": properties,
        "unit_mode": marks[0],
        "batch": marks[1],
        "broker_name": broker_name,
    }
    header = SendMessageV2(**fields, born_timestamp=born_ms, reconsume_times=0)

    ext = send_v2_ext(**fields, born_ms=born_ms)

    assert list(ext.items()) == list(header.to_ext().items())
    for language in (LanguageCode.PYTHON, LanguageCode.DOTNET):
        frame = SendFrames({**ext, "f": "", "g": "", "h": "", "i": ""}, language).frame(
            7, sys_flag=sys_flag, born_ms=born_ms, flag=flag, properties=properties, body=b"body"
        )
        assert frame == encode_frame(Command(310, 7, language=language, ext=ext, body=b"body"))


def test_text_without_utf8_form_is_refused_as_everywhere() -> None:
    frames_of_queue = SendFrames(dict.fromkeys("abcdefghijkmn", "x"))

    with pytest.raises(BadCall, match="UTF-8"):
        frames_of_queue.frame(1, sys_flag=0, born_ms=1, flag=0, properties="\ud800", body=b"")


def general(raw: RawFrame) -> Stored | None:
    """Return what the long way says, None where the short one may not answer."""
    cmd = decode_frame(raw)
    if cmd.code or not cmd.is_response:
        return None
    typed = cmd.header(SendMessageResponse)
    return Stored(
        cmd.opaque,
        typed.queue_id,
        cmd.ext.get(TRACE_ON) != "false",
        cmd.ext.get(MSG_REGION, ""),
        typed.msg_id,
        typed.queue_offset,
        raw,
    )


def raw_of(command: Command) -> RawFrame:
    data = encode_frame(command)
    size = int.from_bytes(data[5:8], "big")
    return RawFrame(data[4], data[8 : 8 + size], data[8 + size :])


def test_recorded_answers_of_brokers_are_read_at_once(fact_tables: Path) -> None:
    read = 0
    for name in SETS:
        for one in frames(fact_tables, name):
            raw = RawFrame(one.serialize, one.header, one.body)
            found = read_stored(raw)
            if found is not None:
                assert one.kind == "response"
                assert found == general(raw)
                read += 1

    assert read >= 16


VALUES = st.one_of(
    st.integers(-5, 2**70).map(str), st.text(max_size=6), st.sampled_from(["true", "false"])
)


@given(
    changed=st.dictionaries(st.sampled_from([*EXT, "transactionId"]), VALUES, max_size=2),
    missing=st.sets(st.sampled_from(list(EXT)), max_size=1),
    code=st.sampled_from([0, 0, 0, 10, 14]),
    flag=st.sampled_from([1, 1, 1, 0]),
    opaque=st.integers(0, 2**31 - 1),
    remark=st.sampled_from([None, None, "busy"]),
)
def test_what_is_read_at_once_is_what_the_long_way_reads(
    changed: dict[str, str],
    missing: set[str],
    code: int,
    flag: int,
    opaque: int,
    remark: str | None,
) -> None:
    ext = {key: value for key, value in (EXT | changed).items() if key not in missing}
    raw = raw_of(Command(code, opaque, flag, remark=remark, ext=ext))

    found = read_stored(raw)

    assert found is None or found == general(raw)


@pytest.mark.parametrize("opaque", [0, 7, 999_999_999])
def test_the_usual_answer_is_read(opaque: int) -> None:
    raw = raw_of(Command(0, opaque, 1, ext=EXT))

    assert read_stored(raw) == Stored(
        opaque, 3, True, "DefaultRegion", "7F00000100002A9F0000000000000000", 17, raw
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"code":0', b'"code":10'),
        (b'"flag":1', b'"flag":0'),
        (b'"queueId":"3",', b""),
        (b"DefaultRegion", b"Default\\u0041"),
        (b"DefaultRegion", b"Default\xff"),
        (b'"version"', b'"remark":"full","version"'),
        (b'"17"}', b'"17","transactionId":"T"}'),
        (b'"17"', b'"-1"'),
    ],
)
def test_any_other_answer_goes_the_long_way(old: bytes, new: bytes) -> None:
    serialize, header, body = raw_of(Command(0, 7, 1, ext=EXT))
    assert old in header

    assert read_stored(RawFrame(serialize, header.replace(old, new), body)) is None
    assert read_stored(RawFrame(1, header, body)) is None
