"""A command as a value: flags, answers, typed headers."""

import pytest

from remoting.codes import RequestCode, ResponseCode, SerializeType
from remoting.command import Command
from remoting.errors import BadHeader
from remoting.headers import GetMaxOffset, GetMaxOffsetResponse, UnregisterClientResponse


def test_request_carries_the_header_and_is_no_response() -> None:
    request = Command.request(
        RequestCode.GET_MAX_OFFSET, GetMaxOffset(topic="T", queue_id=3), body=b"x"
    )

    assert request.ext == {"topic": "T", "queueId": "3"}
    assert request.is_response is False
    assert request.is_oneway is False
    assert request.body == b"x"


def test_oneway_request_says_so() -> None:
    assert Command.request(RequestCode.HEART_BEAT, oneway=True).is_oneway


def test_response_repeats_opaque_and_serialisation() -> None:
    request = Command(code=30, opaque=77, serialize=SerializeType.ROCKETMQ)

    response = request.response(ResponseCode.SUCCESS, header=GetMaxOffsetResponse(offset=9))

    assert response.opaque == 77
    assert response.serialize == SerializeType.ROCKETMQ
    assert response.is_response
    assert response.header(GetMaxOffsetResponse).offset == 9


def test_header_without_values_is_written_as_an_empty_map() -> None:
    plain, empty = Command(code=1), Command(code=1).response(header=UnregisterClientResponse())

    assert plain.ext_written is False
    assert empty.ext_written is True


def test_missing_field_names_header_and_field() -> None:
    with pytest.raises(BadHeader, match=r"GetMaxOffset needs the field queueId") as caught:
        Command(code=30, ext={"topic": "T"}).header(GetMaxOffset)

    assert caught.value.header == "GetMaxOffset"
    assert caught.value.field == "queueId"
