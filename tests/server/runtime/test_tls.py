"""TLS settings come from the configuration and its TLS file."""

from pathlib import Path

import pytest

from mqserver.broker.config import broker_config, printed
from mqserver.namesrv.namesrv_config import namesrv_config
from mqserver.runtime.tls import Tls, split_tls, tls_settings
from mqserver.runtime.typed_config import SettingsError, Value, format_settings
from remoting.aio.tls import ClientAuth, ClientTls, ServerTls, TlsMode

NO_FILE = Path("/nonexistent/tls.properties")

FILES = {
    "tls.test.mode.enable": "false",
    "tls.server.keyPath": "/k",
    "tls.server.keyPassword": "hiddenWord",
    "tls.server.certPath": "/c",
    "tls.server.authClient": "true",
    "tls.server.need.client.auth": "require",
    "tls.server.trustCertPath": "/t",
    "tls.client.authServer": "true",
    "tls.client.trustCertPath": "/ct",
    "tls.client.certPath": "/cc",
    "tls.client.keyPath": "/ck",
    "tls.client.keyPassword": "hiddenToo",
}


def read(settings: dict[str, str], *, default_file: Path = NO_FILE) -> Tls:
    found = [Value(key, text, "broker.conf") for key, text in settings.items()]
    return tls_settings(found, default_file=default_file)


def test_without_settings_tls_is_permissive_and_in_test_mode_as_in_java() -> None:
    assert read({}) == Tls(ServerTls(mode=TlsMode.PERMISSIVE, test_mode=True), None)


def test_every_key_has_its_place() -> None:
    assert read({**FILES, "tls.server.mode": "enforcing", "tls.enable": "true"}) == Tls(
        ServerTls(
            mode=TlsMode.ENFORCING,
            test_mode=False,
            key_path=Path("/k"),
            key_password="hiddenWord",
            cert_path=Path("/c"),
            need_client_auth=ClientAuth.REQUIRE,
            auth_client=True,
            trust_cert_path=Path("/t"),
        ),
        ClientTls(
            auth_server=True,
            trust_cert_path=Path("/ct"),
            cert_path=Path("/cc"),
            key_path=Path("/ck"),
            key_password="hiddenToo",
        ),
    )


def test_the_tls_file_wins_and_may_not_set_the_mode(tmp_path: Path) -> None:
    path = tmp_path / "tls.properties"
    path.write_text(
        "tls.server.mode=disabled\ntls.server.keyPath=/other\ntls.unknown=1\n"
        "tls.test.mode.enable=false\n"
    )
    settings = {"tls.server.mode": "enforcing", "tls.server.keyPath": "/mine"}

    named = read({**settings, "tls.config.file": str(path)})
    assert (named.server.mode, named.server.key_path) == (TlsMode.ENFORCING, Path("/other"))
    assert read(settings, default_file=path) == named
    assert read(settings).server.key_path == Path("/mine")


def test_in_test_mode_a_client_checks_nothing() -> None:
    assert read({**FILES, "tls.enable": "true", "tls.test.mode.enable": "true"}).client == (
        ClientTls()
    )


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"tls.server.mode": "maybe"}, "expected one of disabled, permissive, enforcing"),
        ({"tls.enable": "yes"}, "tls.enable is 'yes', expected true or false"),
        ({"tls.server.keypath": "/k"}, "unknown key tls.server.keypath"),
        ({"tls.config.file": "/nonexistent/x"}, "/nonexistent/x"),
        ({"tls.server.need.client.auth": "perhaps"}, "none, optional, require"),
    ],
)
def test_what_cannot_be_is_named(settings: dict[str, str], text: str) -> None:
    with pytest.raises(SettingsError, match=text):
        read(settings)


def test_the_rest_of_the_settings_is_left_alone() -> None:
    port, tls = Value("listenPort", "1", "x"), Value("tls.enable", "true", "x")

    assert split_tls([port, tls]) == ([port], [tls])


def test_broker_and_name_server_take_the_keys_and_print_none_of_them() -> None:
    found = [Value(key, text, "x.conf") for key, text in FILES.items()]
    broker, namesrv = broker_config(found), namesrv_config(found)

    assert broker.tls.server.key_password == namesrv.tls.server.key_password == "hiddenWord"
    text = str([*printed(broker), *format_settings(namesrv)])
    assert "hidden" not in text
    assert "hidden" not in repr(broker.tls)
