"""Two etcds to test with: the real one, where it is installed, and a double of the calls we use.

    fake_etcd()            an HTTP server in a thread; ``fail`` makes it misbehave
    real_etcd(directory)   Debian's etcd-server, a process with one member

Rule: what is tested with the double is tested with the real one as well, so that the double stays
honest wherever an etcd is installed.
"""

import base64
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from mqserver.controller.etcd import EtcdClient
from mqserver.controller.group_store import StoreUnavailable
from tests import ports, waiting

PROGRAM = os.environ.get("MQ_ETCD") or shutil.which("etcd")
"""The program of the real etcd, or None."""


@contextmanager
def real_etcd(directory: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Run an etcd of one member; yield its process and its ``host:port``."""
    assert PROGRAM is not None
    port = ports.free_ports(2)
    peer_url = f"http://127.0.0.1:{port + 1}"
    client_url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        [
            PROGRAM, "--name", "n", "--data-dir", str(directory / "etcd"),
            "--listen-client-urls", client_url, "--advertise-client-urls", client_url,
            "--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url,
            "--initial-cluster", f"n={peer_url}", "--logger", "zap", "--log-level", "error",
            "--heartbeat-interval", "50", "--election-timeout", "500",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    address = f"127.0.0.1:{port}"
    try:
        client = EtcdClient([address], timeout_s=10)
        waiting.wait(lambda: process.poll() is not None or _answers(client))
        assert process.poll() is None, "etcd ended"
        yield process, address
    finally:
        process.kill()
        process.wait()


def _answers(client: EtcdClient) -> bool:
    try:
        client.get("/none")
    except StoreUnavailable:
        return False
    return True


class FakeEtcd:
    """Keys with revisions, and leases that a test ends; a request runs alone, as in etcd."""

    def __init__(self) -> None:
        self.revision = 1
        self.values: dict[str, dict[str, str]] = {}
        self.leases: set[str] = set()
        self.fail = ""
        """``refuse``: status 503; ``lose``: do what is asked, then drop the connection;
        ``garbage``: answer what is not JSON."""
        self.calls: list[str] = []
        self._lock = threading.Lock()

    def answer(self, path: str, request: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            self.calls.append(path)
            return {
                "/v3/kv/range": self._range,
                "/v3/kv/txn": self._txn,
                "/v3/lease/grant": self._grant,
                "/v3/lease/keepalive": self._keepalive,
                "/v3/lease/revoke": self._revoke,
            }[path](request)

    def end_lease(self, lease: str) -> None:
        """End a lease, and the keys that hang on it."""
        self.leases.discard(lease)
        for key in [key for key, value in self.values.items() if value.get("lease") == lease]:
            del self.values[key]

    def _range(self, request: dict[str, Any]) -> dict[str, Any]:
        key = base64.b64decode(request["key"])
        end = base64.b64decode(request.get("range_end", ""))
        names = sorted(self.values, key=base64.b64decode)
        chosen = [
            name for name in names
            if (key <= base64.b64decode(name) < end if end else base64.b64decode(name) == key)
        ]  # fmt: skip
        return {"kvs": [self.values[name] for name in chosen]} if chosen else {}

    def _txn(self, request: dict[str, Any]) -> dict[str, Any]:
        (comparison,) = request["compare"]
        stored = self.values.get(comparison["key"], {"mod_revision": "0"})
        if stored["mod_revision"] != comparison["mod_revision"]:
            return {}
        self.revision += 1
        (action,) = request["success"]
        if put := action.get("request_put"):
            lease = {"lease": put["lease"]} if "lease" in put else {}
            self.values[put["key"]] = {
                "key": put["key"],
                "value": put["value"],
                "mod_revision": str(self.revision),
                **lease,
            }
        else:
            self.values.pop(action["request_delete_range"]["key"], None)
        return {"succeeded": True}

    def _grant(self, request: dict[str, Any]) -> dict[str, Any]:
        lease = str(1_000 + len(self.leases) + self.revision)
        self.leases.add(lease)
        self.revision += 1
        return {"ID": lease, "TTL": request["TTL"]}

    def _keepalive(self, request: dict[str, Any]) -> dict[str, Any]:
        alive = {"TTL": "2"} if request["ID"] in self.leases else {}
        return {"result": {"ID": request["ID"], **alive}}

    def _revoke(self, request: dict[str, Any]) -> dict[str, Any]:
        self.end_lease(request["ID"])
        return {}


@contextmanager
def fake_etcd() -> Iterator[tuple[FakeEtcd, str]]:
    """Serve a :class:`FakeEtcd`; yield it and its ``host:port``."""
    etcd = FakeEtcd()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if etcd.fail == "refuse":
                self.send_error(503)
                return
            answer = json.dumps(etcd.answer(self.path, json.loads(body))).encode()
            if etcd.fail == "lose":
                self.close_connection = True
                return
            self.send_response(200)
            answer = b"<html>" if etcd.fail == "garbage" else answer
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield etcd, f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
