"""The state that the handlers of a name server use.

Rule: handlers get this object and never the app, since the app depends on the handlers.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from mqserver.namesrv.kvconfig import KvConfig
from mqserver.namesrv.namesrv_config import NamesrvConfig
from mqserver.namesrv.registrars import Registrar, RegistrarLimits, make_registrar_of
from mqserver.namesrv.routes import RouteTable
from mqserver.runtime.slices import Slices
from remoting.aio.server import ServerConn

LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class NamesrvState:
    """The tables of one running name server."""

    config: NamesrvConfig
    kv: KvConfig
    routes: RouteTable = field(default_factory=RouteTable)
    slices: Slices = field(default_factory=Slices)
    registrar_of: Callable[[ServerConn], Registrar] = field(init=False)
    refused: dict[int, None] = field(default_factory=dict)
    """Connections on which a registration was refused, by connection id."""
    broker_conns: dict[int, ServerConn] = field(default_factory=dict)
    """Connections that brokers registered on, by connection id."""

    def __post_init__(self) -> None:
        config = self.config
        self.registrar_of = make_registrar_of(config)
        self.routes.limits = RegistrarLimits(
            config.registered_broker_count_max,
            config.registered_topic_count_max,
            config.registered_size_max,
        )

    def note_refusal(self, conn: ServerConn, text: str) -> None:
        """Log why a registration was refused, once for each connection."""
        if conn.id not in self.refused:
            self.refused[conn.id] = None
            LOG.warning("refused a registration of %s: %s", conn.address, text)

    def connection_closed(self, conn: ServerConn) -> None:
        """Drop the brokers that registered on a connection which has been closed."""
        self.broker_conns.pop(conn.id, None)
        self.refused.pop(conn.id, None)
        for lost in self.routes.connection_closed(conn.id):
            LOG.warning("lost broker %s: its connection %s closed", lost.address, conn.address)

    def expire(self, now_ms: int) -> None:
        """Drop brokers that have not registered for too long, and their connections."""
        for lost in self.routes.expire(now_ms):
            LOG.warning("lost broker %s: it has been silent for too long", lost.address)
            conn = self.broker_conns.pop(lost.conn_id, None)
            if conn is not None:
                conn.close()
