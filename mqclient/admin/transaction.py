"""Transactions nobody decided yet: the list of one of our brokers, and asking for one again.

Rule: a Java broker has no such list and answers 3; its op topic has no configuration, so
nobody outside can tell its open half messages from decided ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mqclient.admin.calls import AdminCalls
from mqclient.errors import BadAnswer, BadRequest, ClientError
from remoting import headers
from remoting.codes import ExtensionCode, RequestCode, ResponseCode
from storefmt import fastjson
from storefmt.errors import StoreError
from storefmt.hosts import host_text
from storefmt.msgid import parse_offset_id


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """One half message that waits for a decision.

    Attributes:
        check_times: how often the broker looked at it and wrote it again.
        half_offset: queue offset in the half topic.
    """

    topic: str
    queue_id: int
    producer_group: str
    unique_key: str
    msg_id: str
    log_offset: int
    half_offset: int
    born_ms: int
    store_ms: int
    check_times: int


@dataclass(frozen=True, slots=True)
class TransactionView:
    """The open transactions of a broker.

    Attributes:
        is_complete: False when there are more than the broker lists at once.
    """

    transactions: list[OpenTransaction]
    is_complete: bool


class TransactionCalls(AdminCalls):
    """Calls about transactions."""

    async def open_transactions(self, address: str) -> TransactionView | None:
        """Return the half messages of a broker that nobody decided, oldest first.

        None for a Java broker, which cannot tell.
        """
        what = "open transactions"
        try:
            answer = await self._broker(address, ExtensionCode.GET_OPEN_TRANSACTIONS, what=what)
        except ClientError as error:
            if error.code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                raise
            return None
        try:
            body = fastjson.loads(answer.body)
            rows = body["transactions"] if isinstance(body, dict) else None
            if not isinstance(body, dict) or not isinstance(rows, list):
                raise BadAnswer(f"{what} of {address} are no list", address=address)
            return TransactionView([_row(row) for row in rows], bool(body["complete"]))
        except (StoreError, KeyError, TypeError, ValueError) as error:
            raise BadAnswer(
                f"{what} of {address} cannot be read: {error!r}", address=address
            ) from error

    async def resume_check_half_message(self, offset_id: str) -> None:
        """Have a broker ask again for a half message that it gave up.

        Args:
            offset_id: of the half message, or of its copy among those given up; names the broker.

        Raises:
            BadRequest: that is no offset id.
            BrokerRefused: nothing is stored there. A 4.9 broker does not look at what it is.
        """
        try:
            store_host, _ = parse_offset_id(offset_id)
            address = host_text(store_host)
        except StoreError as error:
            raise BadRequest(str(error)) from error
        await self._broker(
            address,
            RequestCode.RESUME_CHECK_HALF_MESSAGE,
            headers.ResumeCheckHalfMessage(msg_id=offset_id),
            what=f"half message {offset_id}",
        )


def _row(row: object) -> OpenTransaction:
    if not isinstance(row, Mapping):
        raise TypeError(f"a row is {type(row).__name__}, expected an object")
    return OpenTransaction(
        topic=str(row["topic"]),
        queue_id=int(row["queueId"]),
        producer_group=str(row.get("producerGroup") or ""),
        unique_key=str(row.get("uniqueKey") or ""),
        msg_id=str(row["msgId"]),
        log_offset=int(row["commitLogOffset"]),
        half_offset=int(row["halfOffset"]),
        born_ms=int(row["bornTimestamp"]),
        store_ms=int(row["storeTimestamp"]),
        check_times=int(row["checkTimes"]),
    )
