"""A slave becomes the master, and a master a slave: our own requests 10003 and 10004.

Source: ours; in Java roles change by configuration and restart.
"""

import asyncio

from remoting.codes import ExtensionCode, ResponseCode
from remoting.command import Command
from remoting.headers import DemoteMaster, PromoteSlave
from server.broker.config import BrokerRole
from server.broker.state import Broker
from server.runtime.registry import handles
from server.runtime.request import Request

_TASKS: set[asyncio.Task[None]] = set()


@handles(ExtensionCode.PROMOTE_SLAVE)
def promote_slave(broker: Broker, request: Request) -> Command | None:
    """Make this slave the master; answered when it is, or says why it will not be."""
    fields = request.command.header(PromoteSlave)
    role = None if fields.role is None else BrokerRole.__members__.get(fields.role)
    if role is None and fields.role is not None:
        text = f"role is {fields.role!r}, expected {', '.join(BrokerRole.__members__)}"
        return request.command.response(ResponseCode.SYSTEM_ERROR, remark=text)

    async def promote() -> None:
        code, remark = await broker.promote(role, fields.force)
        request.reply(request.command.response(code, remark=remark))

    task = asyncio.get_running_loop().create_task(promote(), name="promotion")
    _TASKS.add(task)
    task.add_done_callback(_TASKS.discard)
    return None


@handles(ExtensionCode.DEMOTE_MASTER)
def demote_master(broker: Broker, request: Request) -> Command:
    """Make this master, which another one has replaced, a slave; it starts anew as that."""
    fields = request.command.header(DemoteMaster)
    code, remark = broker.demote(fields.broker_id, fields.cut_tail, fields.force)
    return request.command.response(code, remark=remark)
