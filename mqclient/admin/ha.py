"""Masters and slaves: which one becomes the master.

Source: ours; Java changes roles by configuration and restart.
"""

from __future__ import annotations

from mqclient.admin.calls import AdminCalls
from remoting.codes import ExtensionCode
from remoting.headers import PromoteSlave


class HaCalls(AdminCalls):
    """Calls about replication."""

    async def promote_slave(
        self, address: str, *, role: str = "ASYNC_MASTER", force: bool = False
    ) -> str:
        """Make a slave the master; returns what it says that it did.

        Args:
            force: also where the slave knows that it lacks messages.

        Raises:
            BrokerRefused: it is no slave, it is stale, or its master lives; code 3 from a
                Java broker, which cannot do this.
        """
        answer = await self._broker(
            address,
            ExtensionCode.PROMOTE_SLAVE,
            PromoteSlave(role=role, force=force),
            what="promotion",
        )
        return answer.remark or ""
