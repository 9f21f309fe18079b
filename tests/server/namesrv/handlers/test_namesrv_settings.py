"""Settings change by allow-list, from this machine, all or none."""

import pytest

from remoting.codes import RequestCode, ResponseCode
from tests.server.doubles import FakeConn
from tests.server.namesrv.desk import Desk

REMOTE = FakeConn(2, peer=("10.0.0.9", 4000))


def update(desk: Desk, body: bytes, conn: FakeConn | None = None):
    return desk.ask(RequestCode.UPDATE_NAMESRV_CONFIG, body=body, conn=conn)


def test_settings_are_answered_as_lines(desk: Desk) -> None:
    lines = desk.ask(RequestCode.GET_NAMESRV_CONFIG).body.decode().splitlines()

    assert "listenPort=9876" in lines
    assert "orderMessageEnable=false" in lines


def test_an_allowed_key_changes_at_once(desk: Desk) -> None:
    assert update(desk, b"orderMessageEnable=true\n").code == 0

    assert desk.state.config.order_message_enable is True


@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        (b"kvConfigPath=/tmp/x\n", 16, "Can not update config path"),
        (b"configStorePath=/tmp/x", 16, "Can not update config path"),
        (b"listenPort=1", 16, "listenPort cannot change while the name server runs"),
        (b"nonsense=1", 16, "these can: orderMessageEnable"),
        (b"orderMessageEnable=maybe", 1, "settings body line 1: orderMessageEnable is 'maybe'"),
        (b"\xff\xfe", 1, "settings body"),
        (b"a=\\u12", 1, "line 1"),
    ],
)
def test_everything_else_is_refused_by_name(desk: Desk, body: bytes, code: int, text: str) -> None:
    answer = update(desk, b"orderMessageEnable=true\n" * (code == 16) + body)

    assert answer.code == code
    assert text in (answer.remark or "")
    assert desk.state.config.order_message_enable is False


def test_other_machines_may_read_and_not_change(desk: Desk) -> None:
    answer = update(desk, b"orderMessageEnable=true", REMOTE)

    assert answer.code == ResponseCode.NO_PERMISSION
    assert desk.state.config.order_message_enable is False
    assert desk.ask(RequestCode.GET_NAMESRV_CONFIG, conn=REMOTE).code == 0


def test_an_empty_update_changes_nothing(desk: Desk) -> None:
    assert update(desk, b"").code == 0
