"""What a slave asks the master of its group before it copies: where, and from where on.

Source: store/ha/autoswitch/AutoSwitchHAClient.java, broker/processor/AdminBrokerProcessor.java
#exchangeBrokerHaInfo (5.4.0). A slave of Java takes the address from its name server, and waits for
its next registration where it registered before the new master did.
"""

from collections.abc import Callable, Sequence
from typing import Final

from mqserver.broker.ha.log_compare import LogsDiverged, compare
from mqserver.broker.ha.receiving import Diverged
from mqserver.broker.ha.slave_synchronize import MasterCalls
from mqserver.broker.replicas.begin_plan import CannotFollow, CutAt, plan_begin
from mqserver.broker.replicas.frames import MasterHandshake
from mqserver.broker.replicas.role_actions import Follow
from mqserver.store.store import MessageStore
from remoting.aio.client import RemotingClient
from remoting.codes import LaterCode, ResponseCode
from remoting.command import Command
from remoting.errors import RemotingError
from remoting.headers import ExchangeHaInfo
from storefmt.config.master_epochs import EpochStart

ASK_S: Final = 1.0


async def ask_ha_address(
    client: RemotingClient,
    master: Follow,
    *,
    name: str,
    sign: Callable[[Command, str], None],
) -> str:
    """Return where slaves connect to a master; it says so only when it leads.

    Args:
        client: the connection to the master.
        master: address and epoch of the master.
        name: the broker name of the group.
        sign: signs the request for the address.

    Raises:
        OSError: it does not answer, does not lead yet, or leads by an older epoch.
    """
    question = ExchangeHaInfo(broker_name=name)
    command = Command.request(LaterCode.EXCHANGE_BROKER_HA_INFO, question)
    sign(command, master.address)
    try:
        answer = await client.invoke(master.address, command, timeout_s=ASK_S)
        header = answer.header(ExchangeHaInfo)
    except RemotingError as error:
        raise OSError(str(error)) from error
    if answer.code != ResponseCode.SUCCESS or not header.master_ha_address:
        raise OSError(f"it does not lead yet: code {answer.code} {answer.remark or ''}")
    if header.master_epoch is not None and header.master_epoch < master.epoch:
        raise OSError(f"it leads by epoch {header.master_epoch}, not {master.epoch} yet")
    return header.master_ha_address


async def must_cut_at(
    store: MessageStore,
    epochs: Sequence[EpochStart],
    *,
    handshake: MasterHandshake,
    master: MasterCalls,
) -> int | None:
    """Return where the log of a slave has to be cut so that it is a beginning of the master's.

    Args:
        store: the store of the slave.
        epochs: its epochs.
        handshake: those of the master.
        master: answers where epochs prove nothing.

    Returns:
        A log offset, or None if nothing has to be cut.

    Raises:
        Diverged: the logs have nothing in common.
        OSError: the master does not answer.
    """
    log_min, log_end = store.min_log_offset, store.raw.end
    try:
        plan = plan_begin(epochs, log_min=log_min, log_end=log_end, master=handshake)
    except CannotFollow as error:
        raise Diverged(
            f"{error}; look at both with `mqadmin store diff`, and empty the store directory of "
            "the broker whose log is not the one to keep"
        ) from error
    if isinstance(plan, CutAt):
        return plan.log_offset
    if not plan.needs_compare:
        return None
    master_min = (await master.log_range()).log_min
    try:
        await compare(store.raw, log_min=log_min, master_min=master_min, record_at=master.record_at)
    except LogsDiverged as diverged:
        if diverged.log_offset < log_end:
            return diverged.log_offset
        raise Diverged(f"{diverged}; empty the store directory of this broker") from diverged
    return None
