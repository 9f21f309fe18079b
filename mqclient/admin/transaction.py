"""Admin calls that list the open transactions of a broker, or let it check one again.

Only our broker lists its open transactions. A Java broker answers code 3; its op topic has no
settings, so no client can tell open half messages from decided ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mqclient.admin.calls import AdminCalls
from mqclient.errors import BadAnswer, BadRequest, ClientError
from remoting import headers
from remoting.codes import ExtensionCode, RequestCode, ResponseCode
from storefmt.config import fastjson
from storefmt.errors import StoreError
from storefmt.formats.hosts import host_text
from storefmt.formats.msgid import parse_offset_id


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A half message that waits for a decision.

    Attributes:
        topic, queue_id: where the message will be visible.
        producer_group: the group that the broker asks.
        unique_key: the id that the client gave; msg_id is the offset id of the half message.
        log_offset: offset in the commit log, in bytes.
        half_offset: queue offset in the half topic, in entries.
        born_ms, store_ms: when it was sent and stored, in ms since 1970.
        check_times: how often the broker has asked for the decision.
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
        transactions: oldest first.
        is_complete: False when the broker has more than it lists at once.
    """

    transactions: list[OpenTransaction]
    is_complete: bool


class TransactionCalls(AdminCalls):
    """The requests about transactions."""

    async def open_transactions(self, address: str) -> TransactionView | None:
        """Return the open half messages of a broker, oldest first; None for a Java broker.

        Raises:
            BadAnswer: the list cannot be decoded.
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
                raise BadAnswer(f"{what} of {address} are not a list", address=address)
            return TransactionView([_row(row) for row in rows], bool(body["complete"]))
        except (StoreError, KeyError, TypeError, ValueError) as error:
            raise BadAnswer(
                f"{what} of {address} cannot be decoded: {error!r}", address=address
            ) from error

    async def resume_check_half_message(self, offset_id: str) -> None:
        """Let a broker check again a half message that it has given up.

        Args:
            offset_id: offset id of the half message, or of its copy in the topic of those given
                up; it contains the address of the broker.

        Raises:
            BadRequest: the text is not an offset id.
            BrokerRefused: no record starts there. A 4.9 broker does not check what kind it is.
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
