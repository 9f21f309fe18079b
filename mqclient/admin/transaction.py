"""Admin calls that list the open transactions of a broker, or let it check one again.

Only our broker lists its open transactions. A Java broker answers code 3; its op topic has no
settings, so no client can tell open half messages from decided ones.
"""

from __future__ import annotations

from mqclient.admin.calls import AdminCalls
from mqclient.admin.message import place_of
from mqclient.errors import ClientError
from remoting import bodies, headers
from remoting.codes import ExtensionCode, RequestCode, ResponseCode


class TransactionCalls(AdminCalls):
    """The requests about transactions."""

    async def open_transactions(self, address: str) -> bodies.OpenTransactions | None:
        """Return the open half messages of a broker, oldest first; None for a Java broker.

        Raises:
            BadAnswer: the list cannot be decoded.
        """
        try:
            return await self._body(
                address,
                ExtensionCode.GET_OPEN_TRANSACTIONS,
                bodies.OpenTransactions,
                what="open transactions",
            )
        except ClientError as error:
            if error.code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                raise
            return None

    async def resume_check_half_message(self, offset_id: str) -> None:
        """Let a broker check again a half message that it has given up.

        Args:
            offset_id: offset id of the half message, or of its copy in the topic of those given
                up; it contains the address of the broker.

        Raises:
            BadRequest: the text is not an offset id.
            BrokerRefused: no record starts there. A 4.9 broker does not check what kind it is.
        """
        address, _ = place_of(offset_id)
        await self._broker(
            address,
            RequestCode.RESUME_CHECK_HALF_MESSAGE,
            headers.ResumeCheckHalfMessage(msg_id=offset_id),
            what=f"half message {offset_id}",
        )
