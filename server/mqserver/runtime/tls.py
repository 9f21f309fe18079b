"""TLS settings of a server, under RocketMQ's own keys.

    tls.server.mode                 disabled, permissive (default), enforcing
    tls.test.mode.enable            true (default): use a self-signed certificate
    tls.server.keyPath  keyPassword  certPath          used if test mode is false
    tls.server.need.client.auth  authClient  trustCertPath
    tls.enable  tls.client.*        TLS for connections to name servers
    tls.config.file                 a file with these keys, /etc/rocketmq/tls.properties

Rule: Java reads these keys from system properties; here they are given in the -c file or the
environment. As in Java, the TLS file overrides them but may not set the mode. An unknown key
that begins with ``tls.`` is an error. These settings contain secrets, so they are never returned
to a client or printed.

Source: remoting/netty/TlsSystemConfig.java, TlsHelper.java#extractTlsConfigFromFile.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from mqserver.runtime.typed_config import SettingsError, Value, boolean, read_file, refused
from remoting.aio.tls import ClientAuth, ClientTls, ServerTls, TlsMode

PREFIX: Final = "tls."
CONFIG_FILE: Final = "tls.config.file"
DEFAULT_FILE: Final = Path("/etc/rocketmq/tls.properties")

_NOT_IN_FILE: Final = frozenset({"tls.server.mode", "tls.enable", CONFIG_FILE})
_IN_FILE: Final = frozenset({"tls.test.mode.enable", "tls.server.need.client.auth"}) | {
    f"tls.{end}.{name}"
    for end, auth in (("server", "authClient"), ("client", "authServer"))
    for name in ("keyPath", "keyPassword", "certPath", "trustCertPath", auth)
}

_E = TypeVar("_E", bound=Enum)


class Tls(NamedTuple):
    """How a server uses TLS on its ports and towards other servers (None: plain text)."""

    server: ServerTls = ServerTls()
    client: ClientTls | None = None


def split_tls(values: Iterable[Value]) -> tuple[list[Value], list[Value]]:
    """Return the settings that do not concern TLS, and those that do."""
    plain: list[Value] = []
    tls: list[Value] = []
    for value in values:
        (tls if value.key.startswith(PREFIX) else plain).append(value)
    return plain, tls


def tls_settings(values: Iterable[Value], *, default_file: Path = DEFAULT_FILE) -> Tls:
    """Return the TLS configuration from settings and the file of ``tls.config.file``.

    Raises:
        SettingsError: a key or a value cannot be used, or a named file does not exist.
    """
    settings = {value.key: value for value in values}
    named = settings.get(CONFIG_FILE)
    path = Path(named.text) if named is not None and named.text else default_file
    if named is not None or path.is_file():
        settings |= {value.key: value for value in read_file(path) if value.key in _IN_FILE}
    for key, value in settings.items():
        if key not in _IN_FILE | _NOT_IN_FILE:
            raise SettingsError(f"{value.source}: unknown key {key}")
    return Tls(
        _server(settings), _client(settings) if _flag(settings, "tls.enable", False) else None
    )


def _server(settings: Mapping[str, Value]) -> ServerTls:
    return ServerTls(
        mode=_one_of(TlsMode, settings, "tls.server.mode", TlsMode.PERMISSIVE),
        test_mode=_flag(settings, "tls.test.mode.enable", True),
        key_path=_path(settings, "tls.server.keyPath"),
        key_password=_text(settings, "tls.server.keyPassword"),
        cert_path=_path(settings, "tls.server.certPath"),
        need_client_auth=_one_of(
            ClientAuth, settings, "tls.server.need.client.auth", ClientAuth.NONE
        ),
        auth_client=_flag(settings, "tls.server.authClient", False),
        trust_cert_path=_path(settings, "tls.server.trustCertPath"),
    )


def _client(settings: Mapping[str, Value]) -> ClientTls:
    if _flag(settings, "tls.test.mode.enable", True):
        return ClientTls()
    return ClientTls(
        auth_server=_flag(settings, "tls.client.authServer", False),
        trust_cert_path=_path(settings, "tls.client.trustCertPath"),
        cert_path=_path(settings, "tls.client.certPath"),
        key_path=_path(settings, "tls.client.keyPath"),
        key_password=_text(settings, "tls.client.keyPassword"),
    )


def _text(settings: Mapping[str, Value], key: str) -> str | None:
    return (settings[key].text or None) if key in settings else None


def _path(settings: Mapping[str, Value], key: str) -> Path | None:
    text = _text(settings, key)
    return None if text is None else Path(text)


def _flag(settings: Mapping[str, Value], key: str, default: bool) -> bool:
    return boolean(settings[key]) if key in settings else default


def _one_of(kind: type[_E], settings: Mapping[str, Value], key: str, default: _E) -> _E:
    if key not in settings:
        return default
    try:
        return kind(settings[key].text.lower())
    except ValueError:
        words = ", ".join(str(member.value) for member in kind)
        raise refused(settings[key], f"one of {words}") from None
