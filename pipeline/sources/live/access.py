"""Addresses and accounts: the options of source, sink and jobs for access to brokers.

    namesrv (or nameServer), accessKey, secretKey, timeoutMs
    addressMap (ADVERTISED=REAL,…)                  brokers that are reached elsewhere
    tls (true), tlsCa (a PEM file, or system), tlsCert, tlsKey, tlsKeyPassword

Rule: files are read where a connection is made, by the driver and by every worker, so all must have
them at the same path. Without ``tlsCa`` any certificate of a server is accepted, as by Java's
clients. Keys and passwords go from the driver to its workers with their tasks.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from mqclient.client.instance import MQClient
from pipeline.errors import BadOption
from remoting.aio.tls import ClientTls

TLS_OPTIONS: Final = ("tlsCa", "tlsCert", "tlsKey", "tlsKeyPassword")
ACCESS_OPTIONS: Final = (
    *("namesrv", "nameServer", "accessKey", "secretKey", "timeoutMs", "addressMap"),
    *("tls", *TLS_OPTIONS),
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


def access_of(options: Mapping[str, str], *, timeout_ms: int, tls: bool) -> Access:
    """Return the access that the options describe.

    Args:
        options: the options by name.
        timeout_ms: the timeout of a request, which the caller has read from the options.
        tls: whether to use TLS, which the caller has read from the options.

    Raises:
        BadOption: no name server is given, or only one of two options that go together.
    """
    namesrv = options.get("namesrv") or options.get("nameServer")
    if not namesrv:
        raise BadOption("rocketmq needs option namesrv, host:port;host:port")
    keys = options.get("accessKey"), options.get("secretKey")
    if bool(keys[0]) != bool(keys[1]):
        raise BadOption("options accessKey and secretKey go together: give both or none")
    found = _tls(options, wanted=tls)
    return Access(namesrv, *keys, timeout_ms / 1000, found, _address_map(options))


def _address_map(options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    pairs = []
    for text in options.get("addressMap", "").split(","):
        advertised, _, real = text.strip().partition("=")
        if advertised and real:
            pairs.append((advertised, real))
        elif text.strip():
            raise BadOption(
                f"option addressMap has {text.strip()!r}, expected HOST:PORT=HOST:PORT with commas"
            )
    return tuple(pairs)


def _tls(options: Mapping[str, str], *, wanted: bool) -> ClientTls | None:
    if not wanted:
        given = next((name for name in TLS_OPTIONS if options.get(name)), None)
        if given is not None:
            raise BadOption(f"option {given} needs option tls=true")
        return None
    if bool(options.get("tlsCert")) != bool(options.get("tlsKey")):
        raise BadOption("options tlsCert and tlsKey go together: give both or none")
    ca, cert, key = (Path(text) if text else None for text in map(options.get, TLS_OPTIONS[:3]))
    return ClientTls(
        auth_server=ca is not None,
        trust_cert_path=None if ca == Path("system") else ca,
        cert_path=cert,
        key_path=key,
        key_password=options.get("tlsKeyPassword"),
    )
