"""Signatures that hold for one request code, one server and some minutes."""

import pytest

from remoting.acl import ACCESS_KEY, SIGNATURE, content_of, is_signed, sign
from remoting.command import Command
from remoting.errors import BadCall
from remoting.signing import ACCESS_FOR, BadScope, Scope, Signer, key_for, scope_of, sign_for

KEY, SECRET = "adminKey", "adminSecret"
RECEIVER = "10.0.0.1:10911"


def signed(**options: bool) -> Command:
    command = Command(code=28, ext={"a": "1"}, body=b"x")
    sign_for(command, KEY, SECRET, receiver=RECEIVER, now_ms=5, **options)
    return command


def test_signed_content_begins_with_what_it_is_for() -> None:
    content = content_of(signed().ext, b"x")

    assert content.startswith(b"mqfor1;28;5;10.0.0.1:10911;adminKey")
    assert scope_of(content) == Scope(28, 5, RECEIVER, is_ours_only=False)


def test_java_verifies_it_as_any_other_request() -> None:
    assert is_signed(signed(), SECRET)


def test_signature_for_our_servers_is_none_of_the_secret_key() -> None:
    command = signed(ours_only=True)
    scope = scope_of(content_of(command.ext, b""))

    assert not is_signed(command, SECRET)
    assert is_signed(command, key_for(scope, SECRET))


def test_same_values_in_other_fields_still_begin_with_what_they_are_for() -> None:
    command = signed()
    command.ext["A"] = command.ext.pop(ACCESS_FOR)
    moved = Command(code=28, ext={**command.ext}, body=b"x")
    left_out = Command(code=28, ext={"a": "1", ACCESS_KEY: KEY}, body=b"x")
    left_out.ext[SIGNATURE] = command.ext[SIGNATURE]

    assert is_signed(moved, SECRET)
    assert scope_of(content_of(moved.ext, b"")) == Scope(28, 5, RECEIVER, is_ours_only=False)
    assert not is_signed(left_out, SECRET)


def test_request_of_a_java_client_is_for_anything() -> None:
    command = Command(code=28)
    sign(command, KEY, SECRET)

    assert scope_of(content_of(command.ext, b"")) is None


@pytest.mark.parametrize(
    "content",
    [
        b"mqfor", b"mqfor1;1;2", b"mqfor3;1;2;a:1;", b"mqfor1;x;2;a:1;", b"mqfor1;1;-2;a:1;",
        b"mqfor1;1;" + b"9" * 5_000 + b";a:1;", b"mqfor1;1;2;\xc3\xa4:1;", b"mqfor1;;2;a:1;",
    ],
)  # fmt: skip
def test_scope_that_cannot_be_read_is_an_error(content: bytes) -> None:
    with pytest.raises(BadScope):
        scope_of(content)


@pytest.mark.parametrize("receiver", ["", "a", "a;b:1", "\xe4:1", "a:0"])
def test_receiver_that_is_no_address_is_not_signed_for(receiver: str) -> None:
    with pytest.raises(BadCall):
        sign_for(Command(code=28), KEY, SECRET, receiver=receiver, now_ms=5)


@pytest.mark.parametrize(
    ("address", "receiver"),
    [
        ("10.0.0.9:1", "10.0.0.9:1"),
        ("broker:10911", "10.0.0.7:10911"),
        ("[::1]:10911", "[::1]:10911"),
        ("127.0.0.1:1999", RECEIVER),
    ],
)
def test_client_signs_for_the_server_that_it_is_connected_to(address: str, receiver: str) -> None:
    command = Command(code=28)
    own_names = {"127.0.0.1:1999": RECEIVER}

    Signer(KEY, SECRET, now_ms=lambda: 7, own_names=own_names)(command, address, "10.0.0.7")

    assert command.ext[ACCESS_FOR] == f"mqfor1;28;7;{receiver};"
