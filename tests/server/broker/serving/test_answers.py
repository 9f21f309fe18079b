"""The formatted answers say what the general codec says."""

import struct

import pytest

from mqserver.broker.serving.answers import (
    SendAnswers,
    encode_pull_answer,
    encode_pull_refusal,
    with_code,
)
from mqserver.store.results import GetStatus
from remoting.codes import FLAG_RESPONSE, ResponseCode, SerializeType
from remoting.command import Command
from remoting.frame import FrameReader, decode_frame, encode_frame

HOST = b"\x7f\0\0\x01\0\0\x2a\x9f"
COMMON = {"TRACE_ON": "true", "MSG_REGION": "DefaultRegion"}


def decoded(frame: bytes) -> Command:
    (raw,) = FrameReader().feed(frame)
    return decode_frame(raw)


@pytest.mark.parametrize("serialize", list(SerializeType))
@pytest.mark.parametrize("region", ["DefaultRegion", 'odd"region\\', "Zürich"])
def test_stored_answer_equals_the_general_codec(serialize: SerializeType, region: str) -> None:
    answers = SendAnswers(region=region, trace_on=True, store_host=HOST)
    message_id = answers.message_id(0x1A2B)

    frame = answers.stored(serialize, 77, queue_id=3, queue_offset=9, message_id=message_id)

    assert message_id == "7F00000100002A9F0000000000001A2B"
    place = {"queueId": "3", "msgId": message_id, "queueOffset": "9"}
    assert decoded(frame) == Command(
        code=0,
        opaque=77,
        flag=FLAG_RESPONSE,
        serialize=serialize,
        ext_written=True,
        ext={"TRACE_ON": "true", "MSG_REGION": region, **place},
    )
    if region == "DefaultRegion":
        assert encode_frame(decoded(frame)) == frame


@pytest.mark.parametrize("region", ["DefaultRegion", "100%d", 'odd"region\\'])
def test_pieces_with_the_numbers_between_them_are_the_same_answer(region: str) -> None:
    answers = SendAnswers(region=region, trace_on=True, store_host=HOST)
    place = {"queue_id": 3, "queue_offset": 9, "message_id": answers.message_id(0x1A2B)}
    frame = answers.stored(SerializeType.JSON, 77, **place)

    if answers.pieces is None:
        assert "odd" in region
    else:
        one, two, host, three, four, end = answers.pieces
        header = b"".join((one, b"3", two, host, b"%016X" % 0x1A2B, three, b"9", four, b"77", end))
        assert frame[8:] == header
    frame = answers.stored(SerializeType.ROCKETMQ, 77, **place)
    one, two, host, three, four = answers.binary_pieces
    values = (b"3", host + b"%016X" % 0x1A2B, b"9")
    pairs = b"".join(
        key + len(value).to_bytes(4, "big") + value
        for key, value in zip((two, three, four), values, strict=True)
    )
    assert frame[8:] == one + struct.pack(">iiii", 77, 1, 0, len(pairs)) + pairs


def test_code_of_several_answers_is_changed_in_those_of_stored_messages() -> None:
    answers = SendAnswers(region="R", trace_on=False, store_host=HOST)
    stored = [
        answers.stored(serialize, 1, queue_id=0, queue_offset=0, message_id="x")
        for serialize in SerializeType
    ]
    refused = answers.refused(0, 5, code=ResponseCode.NO_PERMISSION, remark="no")

    changed = with_code(b"".join((*stored, refused)), ResponseCode.FLUSH_DISK_TIMEOUT)

    assert [decode_frame(raw).code for raw in FrameReader().feed(changed)] == [10, 10, 16]


@pytest.mark.parametrize("serialize", list(SerializeType))
def test_code_of_a_stored_answer_can_be_changed(serialize: SerializeType) -> None:
    answers = SendAnswers(region="R", trace_on=False, store_host=HOST)
    frame = answers.stored(serialize, 1, queue_id=0, queue_offset=0, message_id="x")

    changed = decoded(with_code(frame, ResponseCode.FLUSH_DISK_TIMEOUT))

    assert changed.code == 10
    assert changed.ext == decoded(frame).ext
    assert encode_frame(changed) == with_code(frame, 10)


def test_refused_send_has_code_remark_and_the_common_fields() -> None:
    answers = SendAnswers(region="DefaultRegion", trace_on=True, store_host=HOST)

    frame = answers.refused(0, 5, code=ResponseCode.NO_PERMISSION, remark='no "way"\n')

    assert decoded(frame).remark == 'no "way"\n'
    assert decoded(frame).ext == COMMON


@pytest.mark.parametrize("serialize", list(SerializeType))
def test_pull_answer_equals_the_general_codec(serialize: SerializeType) -> None:
    frame = encode_pull_answer(
        serialize,
        8,
        code=ResponseCode.SUCCESS,
        remark=GetStatus.FOUND,
        next_offset=5,
        min_offset=1,
        max_offset=9,
        chunks=[b"ab", b"c"],
    )
    answer = decoded(frame)

    assert (answer.code, answer.remark, answer.body, answer.opaque) == (0, "FOUND", b"abc", 8)
    assert answer.ext == {
        "suggestWhichBrokerId": "0",
        "nextBeginOffset": "5",
        "maxOffset": "9",
        "minOffset": "1",
    }
    assert encode_frame(answer) == frame
    assert decoded(encode_pull_refusal(serialize, 8, code=17, remark="no")).code == 17
