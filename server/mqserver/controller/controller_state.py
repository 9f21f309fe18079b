"""The state that the handlers of a controller use.

Rule: handlers get this object and never the app, since the app depends on the handlers. Handlers
that read or write records run as tasks, whose number is limited.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from mqserver.controller.broker_groups import BrokerGroups
from mqserver.controller.controller_config import ControllerConfig
from mqserver.controller.group_store import StoreUnavailable
from mqserver.controller.leadership import Leadership
from mqserver.controller.notices import Notices
from mqserver.runtime.clock import Clock
from mqserver.runtime.request import Request, RequestRefused
from remoting.codes import LaterResponseCode, ResponseCode
from remoting.command import Command

LOG = logging.getLogger(__name__)

PENDING_MAX: Final = 2_000
"""How many requests may wait for the records of groups; further ones are refused."""


@dataclass(slots=True)
class ControllerState:
    """One running controller."""

    config: ControllerConfig
    clock: Clock
    groups: BrokerGroups
    leadership: Leadership
    notices: Notices
    pending: set[asyncio.Task[None]] = field(default_factory=set)

    def answer_as_leader(self, request: Request, answer: Callable[[], Awaitable[Command]]) -> None:
        """Answer a request in a task if this controller leads.

        Raises:
            RequestRefused: this controller does not lead, or too many requests wait.
        """
        if not self.leadership.is_leader:
            raise RequestRefused(
                LaterResponseCode.CONTROLLER_NOT_LEADER, "The controller is not in leader state"
            )
        if len(self.pending) >= PENDING_MAX:
            raise RequestRefused(
                ResponseCode.SYSTEM_BUSY,
                f"{PENDING_MAX} requests are already waiting for the records of groups",
            )
        task = asyncio.create_task(self._answer(request, answer))
        self.pending.add(task)
        task.add_done_callback(self.pending.discard)

    async def _answer(self, request: Request, answer: Callable[[], Awaitable[Command]]) -> None:
        try:
            response = await answer()
        except RequestRefused as error:
            response = request.command.response(error.code, remark=error.remark)
        except StoreUnavailable as error:
            LOG.error("request code %d: %s", request.command.code, error)
            response = request.command.response(ResponseCode.SYSTEM_ERROR, remark=str(error))
        except Exception as error:
            LOG.exception("request code %d of %s", request.command.code, request.conn.address)
            response = request.command.response(ResponseCode.SYSTEM_ERROR, remark=repr(error))
        request.reply(response)

    async def stop(self) -> None:
        """Cancel the waiting requests."""
        for task in self.pending:
            task.cancel()
        await asyncio.gather(*self.pending, return_exceptions=True)
