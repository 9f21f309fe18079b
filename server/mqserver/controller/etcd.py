"""The few calls to etcd that controllers need, over its JSON interface.

    POST /v3/kv/range, /v3/kv/txn, /v3/lease/grant, /v3/lease/keepalive

Keys and values travel as base64, 64-bit numbers as text, and a field that is false, 0 or empty is
left out. Reads are linearizable.

Rule: a call that may have reached an etcd server is not sent to another one unless it reads, since
its outcome would no longer be known. The functions here block; call them in a thread.

Source: etcd 3.4, Documentation/dev-guide/api_grpc_gateway.md.
"""

import base64
import http.client
import json
import threading
from dataclasses import dataclass
from typing import Final

from mqserver.controller.group_store import StoreUnavailable
from remoting.address import split_address

TIMEOUT_S: Final = 1.0
"""How long a connection or an answer may take before the next server is asked."""

_Object = dict[str, object]


@dataclass(frozen=True, slots=True)
class EtcdValue:
    """The value of a key, and the revision of the change that wrote it."""

    value: str
    mod_revision: int
    lease: int = 0
    """The lease with which the key ends; 0 for none."""


class EtcdClient:
    """A client of one etcd cluster.

    Args:
        endpoints: ``host:port`` of its servers; the one that answered last is asked first.
        is_tls: whether they speak TLS.
        timeout_s: how long a connection or an answer of one server may take.
    """

    def __init__(
        self, endpoints: list[str], *, is_tls: bool = False, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._endpoints = endpoints
        self._is_tls = is_tls
        self._timeout_s = timeout_s
        self._preferred = 0
        self._local = threading.local()

    def get(self, key: str) -> EtcdValue | None:
        """Return the newest value of a key, or None if there is no such key.

        Raises:
            StoreUnavailable: no server of the cluster answers.
        """
        answer = self._post("/v3/kv/range", {"key": _encode(key)}, may_repeat=True)
        values = _values(answer)
        return values[0][1] if values else None

    def get_prefix(self, prefix: str) -> list[tuple[str, EtcdValue]]:
        """Return the keys that begin with ``prefix``, in their order, with their values.

        Raises:
            StoreUnavailable: no server of the cluster answers.
        """
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        request: _Object = {"key": _encode(prefix), "range_end": _encode(end)}
        return _values(self._post("/v3/kv/range", request, may_repeat=True))

    def swap(
        self, key: str, value: str | None, *, mod_revision: int, lease: int | None = None
    ) -> bool:
        """Set or remove a key if it has ``mod_revision``; 0 stands for a key that is not there.

        Args:
            key: the key.
            value: its new value; None removes it.
            mod_revision: the revision that the key has to have.
            lease: the key is removed when this lease ends.

        Returns:
            Whether the key was changed.

        Raises:
            StoreUnavailable: no server answered; the key may have been changed.
        """
        action: _Object
        if value is None:
            action = {"request_delete_range": {"key": _encode(key)}}
        else:
            put: _Object = {"key": _encode(key), "value": _encode(value)}
            if lease is not None:
                put["lease"] = str(lease)
            action = {"request_put": put}
        comparison = {
            "key": _encode(key),
            "target": "MOD",
            "result": "EQUAL",
            "mod_revision": str(mod_revision),
        }
        request: _Object = {"compare": [comparison], "success": [action]}
        return self._post("/v3/kv/txn", request).get("succeeded") is True

    def grant_lease(self, ttl_s: int) -> tuple[int, int]:
        """Return the id and the TTL in s of a new lease; etcd may raise the TTL.

        Raises:
            StoreUnavailable: no server of the cluster answers.
        """
        answer = self._post("/v3/lease/grant", {"TTL": str(ttl_s)})
        return _number(answer, "ID"), _number(answer, "TTL")

    def renew_lease(self, lease: int) -> int:
        """Return the TTL in s of a lease after its renewal; 0 if the lease has ended.

        Raises:
            StoreUnavailable: no server of the cluster answers.
        """
        answer = self._post("/v3/lease/keepalive", {"ID": str(lease)}, may_repeat=True)
        result = answer.get("result")
        return _number(result, "TTL") if isinstance(result, dict) else 0

    def end_lease(self, lease: int) -> None:
        """End a lease, and with it the keys that are attached to it.

        Raises:
            StoreUnavailable: no server of the cluster answers.
        """
        self._post("/v3/lease/revoke", {"ID": str(lease)}, may_repeat=True)

    def _post(self, path: str, request: _Object, *, may_repeat: bool = False) -> _Object:
        """Return the answer of the first server that gives one."""
        body = json.dumps(request).encode()
        problems = []
        for turn in range(len(self._endpoints)):
            position = (self._preferred + turn) % len(self._endpoints)
            endpoint = self._endpoints[position]
            connection, is_fresh = self._connection(endpoint)
            try:
                if is_fresh:
                    connection.connect()
            except OSError as error:
                self._drop(endpoint)
                problems.append(f"{endpoint}: {error}")
                continue
            try:
                connection.request("POST", path, body, {"Content-Type": "application/json"})
                response = connection.getresponse()
                text = response.read()
            except (OSError, http.client.HTTPException) as error:
                self._drop(endpoint)
                problems.append(f"{endpoint}: {error!r}")
                if may_repeat:
                    continue
                break
            if response.status != http.client.OK:
                problems.append(f"{endpoint}: status {response.status}, {text[:200]!r}")
                if may_repeat or response.status == http.client.SERVICE_UNAVAILABLE:
                    continue
                break
            self._preferred = position
            return _object(text, endpoint)
        raise StoreUnavailable("etcd does not answer: " + "; ".join(problems))

    def _connection(self, endpoint: str) -> tuple[http.client.HTTPConnection, bool]:
        """Return the connection of this thread to a server, and whether it has to be opened."""
        connections = self._connections()
        connection = connections.get(endpoint)
        if connection is not None:
            return connection, connection.sock is None
        host, port = split_address(endpoint)
        kind = http.client.HTTPSConnection if self._is_tls else http.client.HTTPConnection
        connection = connections[endpoint] = kind(host, port, timeout=self._timeout_s)
        return connection, True

    def _drop(self, endpoint: str) -> None:
        connection = self._connections().pop(endpoint, None)
        if connection is not None:
            connection.close()

    def _connections(self) -> dict[str, http.client.HTTPConnection]:
        connections: dict[str, http.client.HTTPConnection] | None
        connections = getattr(self._local, "connections", None)
        if connections is None:
            connections = self._local.connections = {}
        return connections


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _object(text: bytes, endpoint: str) -> _Object:
    try:
        # keepalive answers with a stream of objects, which here has exactly one.
        plain = json.loads(text)
    except ValueError:
        raise StoreUnavailable(f"{endpoint} does not answer as etcd does: {text[:200]!r}") from None
    if not isinstance(plain, dict):
        raise StoreUnavailable(f"{endpoint} does not answer as etcd does: {text[:200]!r}")
    return plain


def _number(fields: _Object, key: str) -> int:
    value = fields.get(key, 0)
    try:
        return int(str(value))
    except ValueError:
        raise StoreUnavailable(f"etcd answers {key}={value!r}, expected a number") from None


def _values(answer: _Object) -> list[tuple[str, EtcdValue]]:
    pairs = answer.get("kvs", [])
    if not isinstance(pairs, list):
        raise StoreUnavailable("etcd answers with kvs that are not a list")
    return [
        (
            base64.b64decode(str(pair.get("key", ""))).decode(),
            EtcdValue(
                base64.b64decode(str(pair.get("value", ""))).decode(),
                _number(pair, "mod_revision"),
                _number(pair, "lease"),
            ),
        )
        for pair in pairs
    ]
