"""Transactions nobody decided yet, as one of our brokers lists them.

Rule: a Java broker has no such list and answers 3; its op topic has no configuration, so
nobody outside can tell its open half messages from decided ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mqclient.admin_calls import AdminCalls
from mqclient.errors import BadAnswer, ClientError
from remoting.codes import ExtensionCode, ResponseCode
from storefmt import fastjson
from storefmt.errors import StoreError


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
