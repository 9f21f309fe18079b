"""A slave becomes the master: our own request 10003.

Source: ours; in Java roles change by configuration and restart.
"""

import asyncio

from remoting.codes import ExtensionCode, ResponseCode
from remoting.command import Command
from remoting.headers import PromoteSlave
from server.broker.config import BrokerRole
from server.broker.state import Broker
from server.runtime.registry import handles
from server.runtime.request import Request

_TASKS: set[asyncio.Task[None]] = set()


@handles(ExtensionCode.PROMOTE_SLAVE)
def promote_slave(broker: Broker, request: Request) -> Command | None:
    """Make this slave the master; answered when it is, or says why it will not be."""
    fields = request.command.header(PromoteSlave)
    if fields.role not in BrokerRole.__members__:
        text = f"role is {fields.role!r}, expected {', '.join(BrokerRole.__members__)}"
        return request.command.response(ResponseCode.SYSTEM_ERROR, remark=text)

    async def promote() -> None:
        code, remark = await broker.promote(BrokerRole[fields.role], fields.force)
        request.reply(request.command.response(code, remark=remark))

    task = asyncio.get_running_loop().create_task(promote(), name="promotion")
    _TASKS.add(task)
    task.add_done_callback(_TASKS.discard)
    return None
