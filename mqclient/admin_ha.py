"""Masters and slaves: which one becomes the master.

Source: ours; Java changes roles by configuration and restart.
"""

from __future__ import annotations

from mqclient.admin_calls import AdminCalls
from remoting.codes import ExtensionCode
from remoting.headers import DemoteMaster, PromoteSlave


class HaCalls(AdminCalls):
    """Calls about replication."""

    async def promote_slave(
        self, address: str, *, role: str | None = None, force: bool = False
    ) -> str:
        """Make a slave the master; returns what it says that it did.

        Args:
            role: ASYNC_MASTER or SYNC_MASTER; None for what its master was.
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

    async def demote_master(
        self, address: str, *, broker_id: int, cut_tail: bool = False, force: bool = False
    ) -> str:
        """Make a master that was replaced a slave; returns what it says that it did.

        It answers before it starts anew as a slave.

        Args:
            broker_id: the id that it gets, 1 or more.
            cut_tail: copy out and cut what the new master's log does not have; of a slave, too.
            force: also where it has not heard of a new master.

        Raises:
            BrokerRefused: it still leads, or there is nothing to cut; code 3 from a Java
                broker, which cannot do this.
        """
        answer = await self._broker(
            address,
            ExtensionCode.DEMOTE_MASTER,
            DemoteMaster(broker_id=broker_id, cut_tail=cut_tail, force=force),
            what="demotion",
        )
        return answer.remark or ""
