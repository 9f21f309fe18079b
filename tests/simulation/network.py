"""Connections between the processes of a world.

    client ── payload ──> server     in order, each way, after a random delay
           <── payload ──

Rule: as with TCP, what was sent arrives once and in order, or the connection ends. Behind a
partition it waits; when the partition ends it arrives, however late. Both ends are of one life of
a process: a payload for a process that started anew meanwhile ends the connection.
"""

from typing import Any, Protocol

from tests.simulation.world import Process, World


class Endpoint(Protocol):
    """What sits at one end of a connection."""

    def received(self, conn: "Conn", payload: Any) -> None:
        """Handle what the peer sent."""

    def closed(self, conn: "Conn") -> None:
        """Note that the connection has ended."""


class Network:
    """The network of a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.delay_ms = (0.2, 2.0)
        self.conns: list[Conn] = []
        self._blocked: dict[tuple[str, str], int] = {}
        self._conn_id = 0

    def connect(self, client: Process, server: Process, endpoint: Endpoint, kind: str) -> "Conn":
        """Return a connection; ``server.accept(conn)`` is called when its first payload comes."""
        self._conn_id += 1
        conn = Conn(self, self._conn_id, client, server, endpoint, kind)
        self.conns.append(conn)
        return conn

    def is_blocked(self, source: str, target: str) -> bool:
        """Tell whether nothing arrives from one process at another one."""
        return (source, target) in self._blocked

    def block(self, source: str, target: str) -> None:
        """Let nothing arrive any more, in one direction."""
        key = (source, target)
        self._blocked[key] = self._blocked.get(key, 0) + 1

    def unblock(self, source: str, target: str) -> None:
        """Take one block away, and let everything arrive that waited for that."""
        key = (source, target)
        count = self._blocked.pop(key, 0)
        if count > 1:
            self._blocked[key] = count - 1
            return
        for conn in self.conns:
            conn.flush(source, target)

    def heal(self) -> None:
        """End all partitions."""
        keys = list(self._blocked)
        self._blocked.clear()
        for source, target in keys:
            for conn in self.conns:
                conn.flush(source, target)

    def process_ended(self, process: Process) -> None:
        """End the connections of a process; its peers notice it unless the power went off."""
        for conn in list(self.conns):
            if process in (conn.client, conn.server):
                conn.ended_at(process)

    def latency_ms(self) -> float:
        """Return how long a payload travels."""
        return self.world.random.uniform(*self.delay_ms)


class Conn:
    """One connection; ``client`` opened it."""

    def __init__(
        self,
        network: Network,
        conn_id: int,
        client: Process,
        server: Process,
        endpoint: Endpoint,
        kind: str,
    ) -> None:
        self.id = conn_id
        self.kind = kind
        self.client, self.server = client, server
        self.is_open = True
        self._network = network
        self._ends: dict[Process, Endpoint | None] = {client: endpoint, server: None}
        self._generations = {client: client.generation, server: server.generation}
        self._last_ms = {client: 0.0, server: 0.0}
        self._waiting: dict[Process, list[Any]] = {client: [], server: []}

    @property
    def is_closing(self) -> bool:
        """Tell whether it has ended."""
        return not self.is_open

    def set_endpoint(self, process: Process, endpoint: Endpoint) -> None:
        """Set what handles payloads at the end of a process."""
        self._ends[process] = endpoint

    def send(self, sender: Process, payload: Any) -> None:
        """Send a payload to the other end."""
        if not self.is_open:
            return
        target = self._peer(sender)
        world = self._network.world
        due_ms = max(world.now_ms + self._network.latency_ms(), self._last_ms[target])
        self._last_ms[target] = due_ms
        world.at(due_ms - world.now_ms, self._deliver, target, payload)

    def _peer(self, process: Process) -> Process:
        return self.server if process is self.client else self.client

    def _deliver(self, target: Process, payload: Any) -> None:
        if not self.is_open:
            return
        if self._waiting[target] or self._network.is_blocked(self._peer(target).name, target.name):
            self._waiting[target].append(payload)
            return
        if target.generation != self._generations[target] or not target.is_alive:
            if not target.is_off:
                self.reset()
            return
        target.arrive(target.generation, self._handle, target, payload)

    def _handle(self, target: Process, payload: Any) -> None:
        if not self.is_open:
            return
        endpoint = self._ends[target]
        if endpoint is None:
            endpoint = self._ends[target] = target.accept(self)  # type: ignore[attr-defined]
        if endpoint is not None:
            endpoint.received(self, payload)

    def flush(self, source: str, target_name: str) -> None:
        """Let arrive what waited behind a partition that has ended."""
        target = self.server if self.server.name == target_name else self.client
        if target.name != target_name or self._peer(target).name != source:
            return
        waiting, self._waiting[target] = self._waiting[target], []
        for payload in waiting:
            self.send(self._peer(target), payload)

    def close(self, closer: Process) -> None:
        """Close the connection; the other end hears of it unless a partition is between."""
        self._end(exempt=closer)

    def reset(self) -> None:
        """End the connection for both ends."""
        self._end(exempt=None)

    def ended_at(self, process: Process) -> None:
        """Note that a process of this connection has ended."""
        peer = self._peer(process)
        if process.is_off or self._network.is_blocked(process.name, peer.name):
            # The peer finds out by its own timeout, or when it sends something later.
            return
        self._end(exempt=process)

    def _end(self, exempt: Process | None) -> None:
        if not self.is_open:
            return
        self.is_open = False
        self._network.conns.remove(self)
        for process, endpoint in self._ends.items():
            if endpoint is None or process is exempt:
                continue
            if exempt is not None and self._network.is_blocked(exempt.name, process.name):
                continue
            self._network.world.at(
                self._network.latency_ms(),
                process.arrive,
                self._generations[process],
                endpoint.closed,
                self,
            )
