"""How a context secures its connections: the files, by name.

Rule: nothing here reads a file: a missing file is reported when a connection is made.

Source: remoting/netty/TlsSystemConfig.java (4.9.7) for what can be set.
"""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remoting.aio.tls import ClientTls


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """TLS of a client.

    Attributes:
        ca: trusted certificates, a PEM file; ``system`` for those of this machine; without
            either, any certificate is accepted, as Java does by default.
        cert, key: this client's own, for servers that ask for one.
        key_password: the key's, or ``env:NAME`` or ``file:PATH``.
    """

    ca: str | None = None
    cert: str | None = None
    key: str | None = None
    key_password: str | None = None

    def given(self) -> dict[str, str]:
        """Return what is set, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def client_tls(self) -> "ClientTls":
        """Return the settings for a connection."""
        # Plain connections do not need the imports.
        from pathlib import Path

        from remoting.aio.tls import ClientTls

        def path(text: str | None) -> Path | None:
            return Path(text).expanduser() if text else None

        return ClientTls(
            auth_server=self.ca is not None,
            trust_cert_path=None if self.ca == "system" else path(self.ca),
            cert_path=path(self.cert),
            key_path=path(self.key),
            key_password=self.key_password,
        )
