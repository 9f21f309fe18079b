"""Key values over the wire."""

import pytest

from remoting.codes import RequestCode, ResponseCode
from tests.server.namesrv.desk import Desk

NOWHERE = {"namespace": "nowhere", "key": "k"}


@pytest.fixture
def desk(desk: Desk) -> Desk:
    answer = desk.ask(RequestCode.PUT_KV_CONFIG, ext={"namespace": "NS", "key": "k", "value": "v"})
    assert answer.code == 0
    return desk


def test_a_key_is_read_back_and_deleted(desk: Desk) -> None:
    ext = {"namespace": "NS", "key": "k"}

    found = desk.ask(RequestCode.GET_KV_CONFIG, ext=ext)
    listed = desk.ask(RequestCode.GET_KVLIST_BY_NAMESPACE, ext=ext)
    desk.ask(RequestCode.DELETE_KV_CONFIG, ext=ext)
    gone = desk.ask(RequestCode.GET_KV_CONFIG, ext=ext)

    assert found.ext == {"value": "v"}
    assert listed.body == b'{"table":{"k":"v"}}'
    assert (gone.code, gone.remark) == (22, "No config item, Namespace: NS Key: k")


def test_an_unknown_namespace_is_not_found(desk: Desk) -> None:
    answer = desk.ask(RequestCode.GET_KVLIST_BY_NAMESPACE, ext=NOWHERE)

    assert answer.code == ResponseCode.QUERY_NOT_FOUND
    assert answer.remark == "No config item, Namespace: nowhere"
    assert desk.ask(RequestCode.DELETE_KV_CONFIG, ext=NOWHERE).code == 0


@pytest.mark.parametrize(
    ("ext", "text"),
    [
        ({"namespace": "NS", "key": " ", "value": "v"}, "key is ' '"),
        ({"namespace": "NS", "key": "k"}, "value"),
        ({}, "namespace"),
    ],
)
def test_a_bad_key_is_refused_with_code_1(desk: Desk, ext, text: str) -> None:
    answer = desk.ask(RequestCode.PUT_KV_CONFIG, ext=ext)

    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert text in (answer.remark or "")
