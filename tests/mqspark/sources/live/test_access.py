"""Brokers behind TLS and at other addresses than they advertise: source and sink."""

import socket
import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from mqserver.pytest_plugin import RocketMQ
from mqspark.errors import BadOption
from mqspark.sources.live.options import Use, live_settings, sink_settings
from mqspark.sources.live.queues import ask_brokers, batch_tasks
from mqspark.sources.live.read import read_ranges
from mqspark.sources.live.write import send_rows
from tests.mqspark.livetopics import make, read_queues

COUNT = 12
TLS_HANDSHAKE = 0x16


class Relay:
    """A port that passes what comes on to a server, and knows how each connection began."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._server = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets = [self._listener]
        self.first_bytes: list[int] = []
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """End every connection; the threads end with them."""
        for one in self._sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                # The other end was faster.
                continue
            finally:
                one.close()

    def _accept(self) -> None:
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            server = socket.create_connection(self._server)
            self._sockets += [client, server]
            threading.Thread(target=self._pass, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, False), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, asks: bool) -> None:
        try:
            while data := source.recv(1 << 16):
                if asks:
                    self.first_bytes.append(data[0])
                    asks = False
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            # One end is gone, and the other hears of it.
            return


@pytest.fixture
def relay(rocketmq: RocketMQ) -> Iterator[Relay]:
    """Yield a way to the broker's port."""
    made = Relay(rocketmq.broker)
    yield made
    made.close()


def test_source_and_sink_speak_tls_to_a_broker_that_is_elsewhere(
    rocketmq: RocketMQ, relay: Relay
) -> None:
    make(rocketmq.namesrv, "Elsewhere")
    access = {
        "namesrv": rocketmq.namesrv,
        "tls": "true",
        "addressMap": f"{rocketmq.broker}={relay.address}",
        "timeoutMs": "60000",
    }
    bodies = [b"%d" % number for number in range(COUNT)]

    sent = send_rows(
        sink_settings({**access, "topic": "Elsewhere"}),
        [pa.RecordBatch.from_pydict({"body": bodies})],
        run_id="run",
    )
    at_sink = list(relay.first_bytes)
    read_queues(rocketmq.namesrv, "Elsewhere", total=COUNT)
    asked = live_settings({**access, "subscribe": "Elsewhere", "columns": "body"}, use=Use.BATCH)
    tasks = ask_brokers(asked, batch_tasks)
    found = [
        body
        for task in tasks
        for batch in read_ranges(asked, task)
        for body in batch.column("body").to_pylist()
    ]

    assert (sent, sorted(found)) == (COUNT, sorted(bodies))
    # Both went that way, and nothing in plain text.
    assert at_sink
    assert len(relay.first_bytes) > len(at_sink)
    assert set(relay.first_bytes) == {TLS_HANDSHAKE}


def test_an_address_map_has_pairs() -> None:
    given = {"namesrv": "n", "addressMap": "10.0.0.1:10911=localhost:1, b:2=c:3,"}

    assert sink_settings(given).access.address_map == (
        ("10.0.0.1:10911", "localhost:1"),
        ("b:2", "c:3"),
    )
    for text in ("10.0.0.1:10911", "=c:3", "b:2="):
        with pytest.raises(BadOption, match=f"addressMap has '{text}'"):
            sink_settings({**given, "addressMap": text})
