"""Promote a slave and demote a master: the extension requests 10003 and 10004.

Source: none; in RocketMQ 4.9 roles change by configuration and restart.
"""

import asyncio
import logging

from remoting.codes import ExtensionCode, ResponseCode
from remoting.command import Command
from remoting.headers import DemoteMaster, PromoteSlave
from server.broker.config import BrokerRole
from server.broker.state import Broker
from server.runtime.registry import handles
from server.runtime.request import Request, RequestRefused

LOG = logging.getLogger(__name__)

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
            remark = f"promoted in part: {error}; see the broker's log"
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
