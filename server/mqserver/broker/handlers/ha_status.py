"""How master and slaves are connected: requests 907 and 908 of RocketMQ 5.

Source: broker/processor/AdminBrokerProcessor.java#getBrokerHaStatus, #resetMasterFlushOffset,
store/ha/DefaultHAService.java and store/ha/autoswitch/AutoSwitchHAService.java#getRuntimeInfo
(5.4.0). The transfer rate is not measured here and is always 0.
"""

from mqserver.broker.ha.links import SlaveLink
from mqserver.broker.ha.receiving import SlaveState
from mqserver.broker.ha.replication import Replication
from mqserver.broker.replicas.member import ReplicaMember
from mqserver.broker.replicas.sending import ReplicaLink
from mqserver.broker.state import Broker
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from remoting.bodies.ha import HAClientRuntimeInfo, HAConnectionRuntimeInfo, HARuntimeInfo
from remoting.codes import LaterCode, ResponseCode
from remoting.command import Command
from remoting.headers import ResetMasterFlushOffset


@handles(LaterCode.GET_BROKER_HA_STATUS)
def get_ha_status(broker: Broker, request: Request) -> Command:
    """Answer with the slaves of a master, or with the master of a slave."""
    replication = _replication(broker)
    is_slave = broker.config.is_slave
    info = _as_slave(broker, replication) if is_slave else _as_master(broker, replication)
    return request.command.response(body=info.encode())


@handles(LaterCode.RESET_MASTER_FLUSH_OFFSET)
def reset_master_flush_offset(broker: Broker, request: Request) -> Command:
    """Note how far the master has flushed, which 907 reports; a master ignores it, as in Java."""
    replication = _replication(broker)
    # Java's master does not even read the header.
    if broker.config.is_slave:
        fields = request.command.header(ResetMasterFlushOffset)
        replication.sync.master_flushed = fields.master_flush_offset
    return request.command.response()


def _replication(broker: Broker) -> Replication:
    if not isinstance(broker.ha, Replication):
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, "the broker is still starting")
    return broker.ha


def _as_master(broker: Broker, replication: Replication) -> HARuntimeInfo:
    log_end = broker.store.written_offset
    connections = [
        HAConnectionRuntimeInfo(
            addr=link.address,
            slave_ack_offset=link.acked_offset,
            diff=log_end - link.acked_offset,
            in_sync=_is_in_sync(broker, replication, link),
            transfer_from_where=link.sent_offset,
        )
        for link in replication.links.links
    ]
    return HARuntimeInfo(
        master=True,
        master_commit_log_max_offset=log_end,
        in_sync_slave_nums=sum(connection.in_sync for connection in connections),
        ha_connection_info=connections,
        ha_client_runtime_info=HAClientRuntimeInfo(),
    )


def _is_in_sync(broker: Broker, replication: Replication, link: SlaveLink) -> bool:
    if isinstance(replication, ReplicaMember) and isinstance(link, ReplicaLink):
        in_sync = replication.machine.in_sync
        return in_sync is not None and link.broker_id in in_sync.committed.members
    behind = broker.store.written_offset - link.acked_offset
    return behind <= broker.config.ha_slave_fallbehind_max


def _as_slave(broker: Broker, replication: Replication) -> HARuntimeInfo:
    receiver = replication.receiver
    client = HAClientRuntimeInfo(
        max_offset=broker.store.written_offset,
        master_flush_offset=replication.sync.master_flushed,
    )
    if receiver is not None:
        client.master_addr = receiver.master or None
        client.last_read_timestamp = receiver.heard_ms
        # Received bytes are acknowledged once they are on disk.
        client.last_write_timestamp = receiver.heard_ms
        client.activated = receiver.reported_state is SlaveState.RECEIVING
    return HARuntimeInfo(ha_client_runtime_info=client)
