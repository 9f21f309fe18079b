"""Promote a slave, demote a master, return the epoch: the extension requests 10003 to 10005.

Source: none; in RocketMQ 4.9 roles change by configuration and restart.
"""

import asyncio
import logging

from mqserver.broker.config import BrokerRole
from mqserver.broker.state import Broker
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from remoting.codes import ExtensionCode, ResponseCode
from remoting.command import Command
from remoting.headers import DemoteMaster, GetEpoch, PromoteSlave

LOG = logging.getLogger(__name__)

CHALLENGE_SIZES = range(16, 129)
"""Characters of a challenge; a shorter one could be guessed."""

_TASKS: set[asyncio.Task[None]] = set()


@handles(ExtensionCode.PROMOTE_SLAVE)
def promote_slave(broker: Broker, request: Request) -> None:
    """Promote this slave to master; answered when that is done, or with the reason why not."""
    fields = request.command.header(PromoteSlave)
    role = None if fields.role is None else BrokerRole.__members__.get(fields.role)
    if role is None and fields.role is not None:
        text = f"role is {fields.role!r}, expected {', '.join(BrokerRole.__members__)}"
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, text)

    async def promote() -> None:
        code: int = ResponseCode.SUCCESS
        try:
            remark = await broker.ha.promote(role, force=fields.force)
        except RequestRefused as refused:
            code, remark = refused.code, refused.remark
        except OSError as error:
            LOG.exception("promotion")
            code = ResponseCode.SYSTEM_ERROR
            remark = f"partly promoted: {error}; see the broker's log"
        request.reply(request.command.response(code, remark=remark))

    task = asyncio.get_running_loop().create_task(promote(), name="promotion")
    _TASKS.add(task)
    task.add_done_callback(_TASKS.discard)


@handles(ExtensionCode.DEMOTE_MASTER)
def demote_master(broker: Broker, request: Request) -> Command:
    """Demote this master, which was replaced by another one, to a slave, and restart it."""
    fields = request.command.header(DemoteMaster)
    try:
        remark = broker.ha.demote(fields.broker_id, cut_tail=fields.cut_tail, force=fields.force)
    except OSError as error:
        LOG.exception("demotion")
        text = f"not demoted: {error}"
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, text) from error
    return request.command.response(remark=remark)


@handles(ExtensionCode.GET_EPOCH)
def get_epoch(broker: Broker, request: Request) -> Command:
    """Return epoch and role, with a proof that this broker belongs to the asker's cluster."""
    fields = request.command.header(GetEpoch)
    if len(fields.challenge) not in CHALLENGE_SIZES:
        raise RequestRefused(
            ResponseCode.SYSTEM_ERROR,
            f"challenge of {len(fields.challenge)} characters, expected {CHALLENGE_SIZES.start} to "
            f"{CHALLENGE_SIZES.stop - 1}",
        )
    return request.command.response(header=broker.ha.tell_epoch(fields))
