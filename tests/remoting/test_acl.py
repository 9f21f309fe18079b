"""Signatures equal those that the real client made."""

from pathlib import Path

import pytest

from remoting.acl import ACCESS_KEY, SIGNATURE, content_of, is_signed, sign, signatures_of
from remoting.codes import SerializeType
from remoting.command import Command
from remoting.serialize import decode_header
from tests.remoting.captures import frames

SECRETS = {"HFCTuser1": "secret1234", "HFCTadmin": "secret5678"}
WRONG = "wrongsecret"


def signed_requests(fact_tables: Path) -> list[Command]:
    found = []
    for frame in frames(fact_tables, "acl"):
        if frame.kind != "response" and not frame.body_cut:
            cmd = decode_header(frame.serialize, frame.header)
            cmd.body = frame.body
            if SIGNATURE in cmd.ext:
                found.append(cmd)
    return found


def test_recorded_signatures_are_recomputed(fact_tables: Path) -> None:
    requests = signed_requests(fact_tables)
    by_right_key = [cmd for cmd in requests if is_signed(cmd, SECRETS[cmd.ext[ACCESS_KEY]])]
    by_wrong_key = [cmd for cmd in requests if is_signed(cmd, WRONG)]

    # The recording holds a few requests of a client with a wrong secret key.
    assert len(by_right_key) + len(by_wrong_key) == len(requests)
    assert len(by_right_key) == 41
    assert len(by_wrong_key) == 4


def test_signing_again_gives_the_same_request(fact_tables: Path) -> None:
    for cmd in signed_requests(fact_tables):
        access_key = cmd.ext[ACCESS_KEY]
        before = dict(cmd.ext)
        if is_signed(cmd, SECRETS[access_key]):
            sign(cmd, access_key, SECRETS[access_key])
            assert cmd.ext == before


def test_a_query_by_unique_key_is_accepted_in_both_forms() -> None:
    ext = {"topic": "T", "key": "K", "_UNIQUE_KEY_QUERY": "true"}

    client, broker = signatures_of(ext, b"", "secret1234")

    assert client != broker
    assert signatures_of({"topic": "T", "key": "K"}, b"", "secret1234") == (broker,)


def test_a_field_without_a_name_is_signed() -> None:
    assert content_of({"": "1", "a": "2", "Signature": "3"}, b"4") == b"124"


@pytest.mark.parametrize("serialize", list(SerializeType))
def test_a_changed_request_is_not_signed(serialize: SerializeType) -> None:
    cmd = Command(code=10, ext={"a": "1"}, body=b"x", serialize=serialize)
    sign(cmd, "HFCTuser1", "secret1234", security_token="t")

    assert is_signed(cmd, "secret1234")
    assert not is_signed(cmd, "secret1235")
    for change in ({"a": "2"}, {"b": "1"}, {SIGNATURE: "é"}, {SIGNATURE: ""}):
        assert not is_signed(Command(code=10, ext={**cmd.ext, **change}, body=b"x"), "secret1234")
    assert not is_signed(Command(code=10, ext=cmd.ext, body=b"y"), "secret1234")


def test_an_unsigned_request_is_not_signed() -> None:
    assert not is_signed(Command(code=10), "secret1234")
