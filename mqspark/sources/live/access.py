"""Addresses and accounts: the options of source, sink and jobs for access to brokers.

Rule: files are read where a connection is made, by the driver and by every worker, so all must have
them at the same path. Without ``tlsCa`` any certificate of a server is accepted, as by Java's
clients. Keys and passwords go from the driver to its workers with their tasks.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from mqclient.client.instance import MQClient
from mqspark.errors import BadOption
from mqspark.options import Option, number, truth
from remoting.aio.tls import ClientTls

_TLS: Final = (
    Option("tlsCa", "a PEM file to check the server's certificate with, or `system`"),
    Option("tlsCert", "the client certificate, for a server that asks for one"),
    Option("tlsKey", "the key of that certificate"),
    Option("tlsKeyPassword", "the password of that key"),
)
ACCESS: Final = (
    Option("namesrv", "name servers, `host:port,host:port`", shown="required"),
    Option("nameServer", "another name of `namesrv`"),
    Option("accessKey", "the name of an ACL account"),
    Option("secretKey", "the secret of that account"),
    Option("timeoutMs", "the timeout of a request", number(), "5000"),
    Option(
        "addressMap",
        "`ADVERTISED=REAL,…`: brokers that are reached at another `host:port` than they advertise",
    ),
    Option("tls", "connects with TLS; files must be at the same path on all nodes", truth, "false"),
    *_TLS,
)


class Access(NamedTuple):
    """Name servers and account; ``address_map`` has pairs of advertised and real addresses."""

    namesrv: str
    access_key: str | None
    secret_key: str | None
    timeout_s: float
    tls: ClientTls | None = None
    address_map: tuple[tuple[str, str], ...] = ()

    def client(self) -> MQClient:
        """Return a client; the caller closes it."""
        return MQClient(
            self.namesrv,
            timeout_s=self.timeout_s,
            access_key=self.access_key,
            secret_key=self.secret_key,
            tls=self.tls,
            address_map=dict(self.address_map),
        )


def access_of(options: Mapping[str, Any]) -> Access:
    """Return the access that the values of options describe.

    Raises:
        BadOption: no name server is given, or only one of two options that go together.
    """
    namesrv = options["namesrv"] or options["nameServer"]
    if not namesrv:
        raise BadOption("rocketmq needs option namesrv, host:port,host:port")
    keys = options["accessKey"], options["secretKey"]
    if bool(keys[0]) != bool(keys[1]):
        raise BadOption("options accessKey and secretKey go together: give both or none")
    return Access(
        namesrv,
        *keys,
        options["timeoutMs"] / 1000,
        _tls(options),
        _address_map(options["addressMap"]),
    )


def _address_map(given: str | None) -> tuple[tuple[str, str], ...]:
    pairs = []
    for text in (given or "").split(","):
        advertised, _, real = text.strip().partition("=")
        if advertised and real:
            pairs.append((advertised, real))
        elif text.strip():
            raise BadOption(
                f"option addressMap has {text.strip()!r}, expected HOST:PORT=HOST:PORT with commas"
            )
    return tuple(pairs)


def _tls(options: Mapping[str, Any]) -> ClientTls | None:
    if not options["tls"]:
        given = next((option.name for option in _TLS if options[option.name]), None)
        if given is not None:
            raise BadOption(f"option {given} needs option tls=true")
        return None
    ca, cert, key, password = (options[option.name] or None for option in _TLS)
    if bool(cert) != bool(key):
        raise BadOption("options tlsCert and tlsKey go together: give both or none")
    return ClientTls(
        auth_server=ca is not None,
        trust_cert_path=None if ca in (None, "system") else Path(ca),
        cert_path=Path(cert) if cert else None,
        key_path=Path(key) if key else None,
        key_password=password,
    )
