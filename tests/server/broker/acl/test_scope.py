"""A signature is accepted only for the request that it was made for."""

from pathlib import Path

import pytest

from mqserver.broker.acl.accounts import AclError
from mqserver.broker.acl.control import AccessControl
from mqserver.broker.acl.rules import OPEN_CODES
from remoting.acl import Proof, content_of, sign
from remoting.codes import ExtensionCode, LaterCode, RequestCode
from remoting.command import Command
from remoting.signing import ACCESS_FOR, SKEW_MS_MAX, sign_for
from tests.server.broker.acl.homes import (
    ADMIN,
    ELSEWHERE,
    NOW_MS,
    RECEIVER,
    SECRETS,
    USER,
    control,
    write_home,
)

ADMIN_READ = RequestCode.GET_BROKER_RUNTIME_INFO


@pytest.fixture
def access(tmp_path: Path) -> AccessControl:
    return control(write_home(tmp_path))


def signed(receiver: str = RECEIVER, now_ms: int = NOW_MS, **options: bool) -> Command:
    command = Command.request(ADMIN_READ)
    sign_for(command, ADMIN, SECRETS[ADMIN], receiver=receiver, now_ms=now_ms, **options)
    return command


@pytest.mark.parametrize("ours_only", [False, True])
def test_request_passes_where_it_was_signed_for(access: AccessControl, ours_only: bool) -> None:
    access.check(ELSEWHERE, signed(ours_only=ours_only))


OTHER_CODES = sorted({*RequestCode, *LaterCode, *ExtensionCode} - {ADMIN_READ})


@pytest.mark.parametrize("code", OTHER_CODES)
def test_captured_signature_does_nothing_else(access: AccessControl, code: int) -> None:
    captured = signed()
    captured.code = code

    if code in OPEN_CODES:
        return
    with pytest.raises(AclError, match="The signature is for request code=28, not for"):
        access.check(ELSEWHERE, captured)


@pytest.mark.parametrize("code", sorted(set(ExtensionCode) - {ExtensionCode.GET_EPOCH}))
def test_signature_of_a_java_client_does_not_reach_our_own_codes(
    access: AccessControl, code: int
) -> None:
    command = Command.request(code)
    sign(command, ADMIN, SECRETS[ADMIN])

    with pytest.raises(AclError, match="needs a signature that names it"):
        access.check(ELSEWHERE, command)


@pytest.mark.parametrize("receiver", ["10.9.8.2:10911", "10.9.8.1:10912", "127.0.0.9:10911"])
def test_signature_for_another_server_is_refused(access: AccessControl, receiver: str) -> None:
    with pytest.raises(AclError, match=f"The signature is for {receiver}, and this is {RECEIVER}"):
        access.check(ELSEWHERE, signed(receiver))


def test_local_address_of_a_connection_is_this_server(access: AccessControl) -> None:
    access.check(ELSEWHERE, signed("172.17.0.2:10911"), at="172.17.0.2:10911")


@pytest.mark.parametrize("skew_ms", [-SKEW_MS_MAX - 1, SKEW_MS_MAX + 1])
def test_signature_of_another_time_is_refused(access: AccessControl, skew_ms: int) -> None:
    with pytest.raises(AclError, match="set both clocks"):
        access.check(ELSEWHERE, signed(now_ms=NOW_MS + skew_ms))
    access.check(ELSEWHERE, signed(now_ms=NOW_MS + skew_ms // 2))


def test_scope_counts_in_whatever_field_it_stands(access: AccessControl) -> None:
    captured = signed()
    captured.ext["A"] = captured.ext.pop(ACCESS_FOR)
    captured.code = RequestCode.GET_BROKER_CONFIG

    with pytest.raises(AclError, match="The signature is for request code=28"):
        access.check(ELSEWHERE, captured)


def test_short_way_of_sends_looks_at_the_scope(access: AccessControl) -> None:
    def allows(code: int, **options: object) -> bool:
        command = Command(code=RequestCode.SEND_MESSAGE_V2, ext={"b": "T"}, body=b"x")
        values = {"receiver": RECEIVER, "now_ms": NOW_MS, **options}
        sign_for(command, USER, SECRETS[USER], **values)  # type: ignore[arg-type]
        content = content_of(command.ext, b"x")
        proof = Proof(USER, command.ext["Signature"].encode(), content)
        return access.allows_send(ELSEWHERE, code, "T", proof)

    assert allows(RequestCode.SEND_MESSAGE_V2)
    assert not allows(RequestCode.SEND_MESSAGE)
    assert not allows(RequestCode.SEND_MESSAGE_V2, receiver="10.9.8.2:10911")
    assert not allows(RequestCode.SEND_MESSAGE_V2, now_ms=0)


def test_account_of_an_administrator_proves_and_others_do_not(access: AccessControl) -> None:
    assert access.admin_secret_of(ADMIN) == SECRETS[ADMIN]
    assert access.admin_secret_of(USER) is None
    assert access.admin_secret_of("nobody") is None
