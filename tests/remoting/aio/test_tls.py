"""Settings of TLS become contexts; what cannot be used is told without a secret."""

import os
import ssl
from pathlib import Path

import pytest

from remoting.aio.tls import (
    ClientAuth,
    ClientTls,
    ServerContexts,
    ServerTls,
    TlsMode,
    client_context,
    server_context,
)
from remoting.errors import BadCall
from tests.remoting.aio.certificates import PASSWORD, server_tls, write, write_locked


def test_without_files_the_test_mode_has_a_certificate_of_its_own() -> None:
    contexts = ServerContexts(ServerTls())
    contexts.check()

    assert contexts.mode is TlsMode.PERMISSIVE
    assert contexts.current() is contexts.current()


def test_a_key_with_a_password_opens(tmp_path: Path) -> None:
    path = write_locked(tmp_path)
    tls = ServerTls(test_mode=False, cert_path=path, key_path=path, key_password=PASSWORD)

    assert server_context(tls).verify_mode is ssl.CERT_NONE
    assert PASSWORD not in repr(tls)


@pytest.mark.parametrize("password", [None, "wrong"])
def test_a_missing_or_wrong_password_is_an_error_and_no_question(tmp_path: Path, password) -> None:
    path = write_locked(tmp_path)
    tls = ServerTls(test_mode=False, cert_path=path, key_path=path, key_password=password)
    with pytest.raises(BadCall, match=r"locked\.pem cannot be used"):
        ServerContexts(tls).check()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"cert_path": None}, "certPath and tls.server.keyPath are both needed"),
        ({"cert_path": Path("gone.crt")}, "gone.crt with key"),
        ({"need_client_auth": ClientAuth.REQUIRE}, "checks nothing without"),
        (
            {
                "need_client_auth": ClientAuth.REQUIRE,
                "auth_client": True,
                "trust_cert_path": Path("gone.pem"),
            },
            "trusted certificates gone.pem cannot be read",
        ),
    ],
)
def test_what_a_server_cannot_use_is_named(tmp_path: Path, changes, text: str) -> None:
    with pytest.raises(BadCall, match=text):
        server_context(server_tls(write(tmp_path), **changes))


def test_client_certificates_are_asked_for_as_set(tmp_path: Path) -> None:
    files = write(tmp_path)
    trusted = {"auth_client": True, "trust_cert_path": files.cert}
    modes = [
        server_context(server_tls(files, need_client_auth=auth, **trusted)).verify_mode
        for auth in ClientAuth
    ]

    assert modes == [ssl.CERT_NONE, ssl.CERT_OPTIONAL, ssl.CERT_REQUIRED]


def test_a_client_checks_the_server_only_when_told_to(tmp_path: Path) -> None:
    files = write(tmp_path)

    assert client_context(ClientTls()).verify_mode is ssl.CERT_NONE
    checking = client_context(ClientTls(auth_server=True, trust_cert_path=files.cert))
    assert checking.verify_mode is ssl.CERT_REQUIRED
    assert len(checking.get_ca_certs()) == 1
    assert client_context(ClientTls(auth_server=True)).verify_mode is ssl.CERT_REQUIRED
    with pytest.raises(BadCall, match=r"gone\.crt"):
        client_context(ClientTls(cert_path=Path("gone.crt")))


def test_changed_files_give_a_new_context_and_broken_ones_keep_the_old(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = write(tmp_path)
    contexts = ServerContexts(server_tls(files))
    first = contexts.current()
    assert contexts.current() is first

    write(tmp_path)
    os.utime(files.cert, ns=(1, 1))
    second = contexts.current()
    assert second is not first

    files.key.write_text("no key")
    assert contexts.current() is second
    assert contexts.current() is second
    assert [record.message[:26] for record in caplog.records] == ["the old certificate stays:"]
