"""Who may connect to a name server, register there and change it."""

from pathlib import Path

import pytest

import mqserver.namesrv.handlers
from mqserver.namesrv.namesrv_config import NamesrvConfig, namesrv_config
from mqserver.namesrv.request_gate import ADMIN_CODES, BROKER_CODES, make_connection_check
from mqserver.runtime.registry import collect
from mqserver.runtime.typed_config import SettingsError, Value
from remoting.codes import RequestCode
from tests.server.doubles import FakeConn
from tests.server.namesrv.desk import Desk

FAR = FakeConn(2, peer=("192.0.2.7", 40_000))
LOCAL = FakeConn(3, peer=("127.0.0.1", 40_000))


def codes_refused(desk: Desk, conn: FakeConn) -> set[int]:
    """Return the codes that are answered 16; all else fails for want of fields or passes."""
    return {
        int(code)
        for code in collect(mqserver.namesrv.handlers).codes()
        if desk.ask(code, conn=conn).code == 16
    }


def test_others_may_ask_and_neither_register_nor_administer(tmp_path: Path) -> None:
    desk = Desk(tmp_path)

    assert codes_refused(desk, FAR) == ADMIN_CODES | BROKER_CODES
    assert codes_refused(desk, LOCAL) == set()


def test_openness_of_java_is_an_option_and_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(tmp_path, broker_addresses="*")

    assert codes_refused(desk, FAR) == ADMIN_CODES
    assert "brokerAddresses is *: every address that can connect may register" in caplog.text


def test_refused_broker_is_told_how_it_is_admitted_and_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(tmp_path, broker_addresses="10.0.0.*")

    answers = [desk.ask(RequestCode.REGISTER_BROKER, conn=FAR) for _ in range(3)]

    text = "start it with brokerAddresses=10.0.0.*,192.0.2.7"
    assert [answer.code for answer in answers] == [16] * 3
    assert text in (answers[0].remark or "")
    assert caplog.text.count(text) == 1


def test_listed_addresses_may_administer(tmp_path: Path) -> None:
    desk = Desk(tmp_path, admin_addresses="192.0.2.*", broker_addresses="192.0.2.*")

    assert codes_refused(desk, FAR) == set()


def test_only_listed_brokers_register(tmp_path: Path) -> None:
    listed = Desk(tmp_path, broker_addresses="192.0.2.7")
    other = Desk(tmp_path, broker_addresses="192.0.2.8", admin_addresses="*")

    assert codes_refused(listed, FAR) == ADMIN_CODES
    assert codes_refused(other, FAR) == BROKER_CODES
    assert codes_refused(other, LOCAL) == set()


def test_every_code_that_changes_something_is_in_one_of_the_lists() -> None:
    codes = collect(mqserver.namesrv.handlers).codes()

    reads = {code for code in codes if "GET" in RequestCode(code).name}

    assert codes - reads == ADMIN_CODES | BROKER_CODES


@pytest.mark.parametrize(
    ("allowed", "ip", "expected"),
    [
        ("*", "192.0.2.7", True),
        ("192.0.2.*", "192.0.2.7", True),
        ("192.0.3.*", "192.0.2.7", False),
        ("192.0.3.*", "127.0.0.1", True),
        ("", "192.0.2.7", False),
    ],
)
def test_only_listed_addresses_and_this_machine_may_connect(allowed, ip, expected) -> None:
    assert make_connection_check(NamesrvConfig(allowed_addresses=allowed))(ip) is expected


@pytest.mark.parametrize("key", ["allowedAddresses", "brokerAddresses", "adminAddresses"])
def test_a_list_that_cannot_be_read_names_its_key(key: str) -> None:
    with pytest.raises(SettingsError, match=f"{key} is '10': "):
        namesrv_config([Value(key, "10", "namesrv.conf")])
