"""Administrators' requests from this machine, from listed addresses and from elsewhere."""

import pytest

from mqserver.runtime.access.addresses import AddressList
from mqserver.runtime.access.admin_gate import LocalGate, address_list, warn_if_open
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.typed_config import SettingsError
from remoting.command import Command
from tests.server.doubles import FakeConn

ADMIN_CODE, OPEN_CODE = 17, 11


def ask(gate: LocalGate, ip: str, *, code: int = ADMIN_CODE, local_ip: str = "10.0.0.9") -> None:
    conn = FakeConn(peer=(ip, 1))
    conn.local_ip = local_ip
    gate(Request(conn, Command(code=code, opaque=1), 0))  # type: ignore[arg-type]


def gate(allowed: str = "") -> LocalGate:
    return LocalGate({ADMIN_CODE}, allowed=AddressList.read(allowed), setting="adminAddresses")


@pytest.mark.parametrize("ip", ["127.0.0.1", "127.9.9.9", "::1", "10.0.0.9"])
def test_this_machine_passes_under_each_of_its_addresses(ip: str) -> None:
    ask(gate(), ip)


def test_others_are_refused_and_told_how_to_allow_it() -> None:
    with pytest.raises(RequestRefused) as refused:
        ask(gate(), "10.0.0.8")

    assert refused.value.code == 16
    assert "not from 10.0.0.8; allow it with adminAddresses" in refused.value.remark


def test_listed_addresses_and_other_codes_pass() -> None:
    ask(gate("10.0.0.*"), "10.0.0.8")
    ask(gate(), "10.0.0.8", code=OPEN_CODE)


def test_who_opens_it_to_everybody_is_warned(caplog: pytest.LogCaptureFixture) -> None:
    ask(gate("*"), "8.8.8.8")
    warn_if_open(AddressList.read("*"), key="adminAddresses")
    warn_if_open(AddressList.read("10.*.*.*"), key="adminAddresses")

    assert [record.message[:19] for record in caplog.records] == ["adminAddresses is *"]


def test_a_setting_that_is_no_list_names_its_key() -> None:
    with pytest.raises(SettingsError, match=r"adminAddresses is '10\.0\.0'"):
        address_list("10.0.0", key="adminAddresses")
