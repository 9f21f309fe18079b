"""TLS for client and server: the settings, and the contexts that are made from them.

    ServerTls  mode, key, certificate, which clients need one     -> ServerContexts
    ClientTls  whom to trust, a certificate of our own            -> client_context

Rule: as in Java, a client checks no certificate unless ``auth_server`` says so, and a server asks
for one only where the settings say so. TLS then protects against eavesdroppers, but not against
impostors. No text contains a password. Key and certificate are read again when their files change;
if the new files cannot be used, the old context stays.

Source: remoting/netty/TlsHelper.java, TlsSystemConfig.java, common/TlsMode.java.
"""

import logging
import ssl
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Final

from remoting.aio.selfsigned import self_signed
from remoting.errors import BadCall

LOG = logging.getLogger(__name__)

HANDSHAKE_BYTE: Final = 0x16
"""First byte of a TLS connection; a plain frame begins with 0, as its length is below 16 MiB."""


class TlsMode(Enum):
    """What a server does with TLS connections and with plain ones."""

    DISABLED = "disabled"
    PERMISSIVE = "permissive"
    ENFORCING = "enforcing"


class ClientAuth(Enum):
    """Whether a server asks clients for a certificate."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRE = "require"


@dataclass(frozen=True, slots=True)
class ServerTls:
    """How a server does TLS.

    Attributes:
        test_mode: make a self-signed certificate, and read no file.
        auth_client: check the certificates of clients against ``trust_cert_path``.
    """

    mode: TlsMode = TlsMode.PERMISSIVE
    test_mode: bool = True
    key_path: Path | None = None
    key_password: str | None = field(default=None, repr=False)
    cert_path: Path | None = None
    need_client_auth: ClientAuth = ClientAuth.NONE
    auth_client: bool = False
    trust_cert_path: Path | None = None


@dataclass(frozen=True, slots=True)
class ClientTls:
    """How a client does TLS.

    Attributes:
        auth_server: check the server's certificate, against ``trust_cert_path`` or, without
            one, against the authorities that this machine trusts. Its name is not compared, as
            in Java, since brokers are reached by address.
    """

    auth_server: bool = False
    trust_cert_path: Path | None = None
    cert_path: Path | None = None
    key_path: Path | None = None
    key_password: str | None = field(default=None, repr=False)


class ServerContexts:
    """The context of a server, made when the first client needs it.

    Args:
        tls: the settings; the mode is not ``DISABLED``.
    """

    def __init__(self, tls: ServerTls) -> None:
        self.mode = tls.mode
        self._tls = tls
        self._context: ssl.SSLContext | None = None
        self._stamp: tuple[tuple[int, int], ...] = ()

    def check(self) -> None:
        """Check the files that are set; a test certificate is not made yet.

        Raises:
            BadCall: key, certificate or trust cannot be used.
        """
        if not self._tls.test_mode:
            self.current()

    def current(self) -> ssl.SSLContext:
        """Return the context for the next connection.

        Raises:
            BadCall: there is no context yet, and key or certificate cannot be used.
        """
        stamp = self._read_stamp()
        if self._context is None or stamp != self._stamp:
            try:
                self._context = server_context(self._tls)
            except BadCall as error:
                if self._context is None:
                    raise
                LOG.error("the old certificate stays: %s", error)
            self._stamp = stamp
        return self._context

    def _read_stamp(self) -> tuple[tuple[int, int], ...]:
        tls = self._tls
        if tls.test_mode:
            return ()
        stamps = []
        for path in (tls.key_path, tls.cert_path, tls.trust_cert_path):
            if path is not None and path.exists():
                state = path.stat()
                stamps.append((state.st_mtime_ns, state.st_size))
        return tuple(stamps)


def server_context(tls: ServerTls) -> ssl.SSLContext:
    """Return the context that settings describe.

    Raises:
        BadCall: key, certificate or trust cannot be read, or are not there.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if tls.test_mode:
        _load_self_signed(context)
        return context
    if tls.cert_path is None or tls.key_path is None:
        raise BadCall(
            "tls.server.certPath and tls.server.keyPath are both needed; or set "
            "tls.test.mode.enable=true for a certificate that clients cannot check"
        )
    _load_chain(context, tls.cert_path, tls.key_path, tls.key_password)
    if tls.auth_client and tls.need_client_auth is not ClientAuth.NONE:
        context.verify_mode = (
            ssl.CERT_REQUIRED if tls.need_client_auth is ClientAuth.REQUIRE else ssl.CERT_OPTIONAL
        )
        _load_trust(context, tls.trust_cert_path)
    elif tls.need_client_auth is ClientAuth.REQUIRE:
        # Java requires a certificate here and accepts any, which proves nothing.
        raise BadCall(
            "tls.server.need.client.auth=require checks nothing without "
            "tls.server.authClient=true and tls.server.trustCertPath"
        )
    return context


def client_context(tls: ClientTls) -> ssl.SSLContext:
    """Return the context that settings describe.

    Raises:
        BadCall: certificate, key or trust cannot be read.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    if tls.auth_server:
        _load_trust(context, tls.trust_cert_path)
    else:
        context.verify_mode = ssl.CERT_NONE
    if tls.cert_path is not None:
        _load_chain(context, tls.cert_path, tls.key_path, tls.key_password)
    return context


def _load_self_signed(context: ssl.SSLContext) -> None:
    made = self_signed(datetime.now(UTC))
    # The ssl module reads files only; these are ours alone and gone at once.
    with tempfile.TemporaryDirectory(prefix="tls-test-") as directory:
        path = Path(directory) / "both.pem"
        path.write_text(made.key + made.certificate)
        context.load_cert_chain(path)


def _load_chain(
    context: ssl.SSLContext, cert_path: Path, key_path: Path | None, password: str | None
) -> None:
    try:
        # A password that the key does not need is not an error. If one is missing, OpenSSL must not
        # ask for it on the terminal.
        context.load_cert_chain(cert_path, key_path, password or "")
    except (OSError, ssl.SSLError, ValueError) as error:
        raise BadCall(
            f"certificate {cert_path} with key {key_path or cert_path} cannot be used: "
            f"{_reason(error)}"
        ) from error


def _load_trust(context: ssl.SSLContext, path: Path | None) -> None:
    try:
        if path is None:
            context.load_default_certs()
        else:
            context.load_verify_locations(path)
    except (OSError, ssl.SSLError) as error:
        raise BadCall(f"trusted certificates {path} cannot be read: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or str(error)).lower().replace("_", " ")
    return (getattr(error, "strerror", None) or str(error)).lower()
