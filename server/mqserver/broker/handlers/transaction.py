"""Transactions: end (37), resume the check of a half message (323), list open ones (10002).

    37     -> the half message is read at its log offset
           commit    the real message is put, then the op message
           roll back the op message is put
    323    -> a discarded half message goes back to the half topic, its check count reset
    10002  -> the half messages that wait for a decision (an extension)

Rule: the real message of a commit and its op message are put in this order in one turn of the
loop, so the log never has the op message without the real one; ``last_commit`` completes a commit
that a crash interrupted in between. If the half message is not in the page cache, a thread reads
it and the request is handled again afterwards. As in Java, a second decision of a producer counts
again: a second commit delivers the message once more.

Source: broker/processor/EndTransactionProcessor.java,
broker/processor/AdminBrokerProcessor.java#resumeCheckHalfMessage (4.9.7).
"""

import logging
from collections.abc import Mapping
from functools import partial
from typing import Final

from mqserver.broker.cold_handler import read_in_slices, reads_cold
from mqserver.broker.delay.schedule import redirect
from mqserver.broker.state import Broker
from mqserver.broker.transaction.half_messages import (
    GROUP,
    QUEUE_ID,
    check_times,
    commit_message,
    is_discarded,
    is_half_message,
    op_half_offset,
    op_message,
    producer_group,
    resume_message,
)
from mqserver.broker.transaction.last_commit import record_at
from mqserver.broker.undelivered import route_waiting
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.slices import Steps, in_slices
from mqserver.store.results import GetStatus, PutMessage
from remoting.bodies import OpenTransaction, OpenTransactions
from remoting.codes import ExtensionCode, RequestCode, ResponseCode
from remoting.command import UNSET_REMARK, Command
from remoting.headers import EndTransaction, ResumeCheckHalfMessage
from storefmt.errors import BadCall, RecordDamaged
from storefmt.formats.message import Record, decode_records
from storefmt.formats.msgid import parse_offset_id
from storefmt.formats.properties import DELAY, REAL_QUEUE_ID, REAL_TOPIC, UNIQUE_KEY
from storefmt.formats.sysflag import TRANSACTION_COMMIT, TRANSACTION_NONE, TRANSACTION_ROLLBACK
from storefmt.names import HALF_TOPIC, OP_HALF_TOPIC, UNDELIVERED_TOPIC

LOG = logging.getLogger(__name__)

SCAN_COUNT_MAX: Final = 10_000
"""Approximate limit of the records that are read from each of the two topics for one answer."""
OPEN_COUNT_MAX: Final = 1_000
READ_COUNT: Final = 128
READ_SIZE: Final = 256 * 1024
_NOT_FOUND: Final = "Find prepared transaction message failed"
_NOT_RESUMED: Final = "Put message back to RMQ_SYS_TRANS_HALF_TOPIC failed."
_RESUME_FAULT: Final = "Exception was thrown when putting message back to RMQ_SYS_TRANS_HALF_TOPIC."


@handles(RequestCode.END_TRANSACTION)
@reads_cold
def end_transaction(broker: Broker, request: Request) -> None:
    """Commit a half message or roll it back; as in Java, "not known" gets no answer."""
    if broker.config.is_slave:
        text = "Message store is slave mode, so end transaction is forbidden. "
        raise RequestRefused(ResponseCode.SLAVE_NOT_AVAILABLE, text)
    fields = request.command.header(EndTransaction)
    decision = fields.commit_or_rollback
    if decision not in (TRANSACTION_COMMIT, TRANSACTION_ROLLBACK, TRANSACTION_NONE):
        text = (
            f"commitOrRollback is {decision}, expected 8 (commit), 12 (roll back) or 0 (not known)"
        )
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, text)
    if decision == TRANSACTION_NONE:
        LOG.info(
            "%s cannot decide yet on the half message at log offset %d",
            request.conn.address, fields.commit_log_offset,
        )  # fmt: skip
        return
    half = _find(broker, fields)
    if decision == TRANSACTION_COMMIT:
        message = commit_message(half)
        route_waiting(
            broker.context,
            message,
            topic=message.topic,
            log_offset=half.log_offset,
            now_ms=request.now_ms,
        )
        if message.topic != UNDELIVERED_TOPIC:
            message = _delayed(broker, message, half.properties, request.now_ms)
        broker.sender.put(message, request.now_ms)
    op = op_message(half, store_host=broker.store_host, now_ms=request.now_ms)
    broker.sender.put(op, request.now_ms)
    remark = None if decision == TRANSACTION_COMMIT else UNSET_REMARK
    _answer_when_safe(broker, request, remark=remark)


@handles(RequestCode.RESUME_CHECK_HALF_MESSAGE)
@reads_cold
def resume_check_half_message(broker: Broker, request: Request) -> None:
    """Put a half message into the half topic again, with its check count reset."""
    fields = request.command.header(ResumeCheckHalfMessage)
    try:
        half = record_at(broker.store, parse_offset_id(fields.msg_id or "")[1])
    except (BadCall, ValueError):
        half = None
    if half is None:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, _RESUME_FAULT)
    if not (is_half_message(half) or is_discarded(half)):
        text = f"{_NOT_RESUMED} {fields.msg_id} is in topic {half.topic}, it is not a half message"
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, text)
    try:
        broker.sender.put(resume_message(half), request.now_ms)
    except RequestRefused as refused:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, _NOT_RESUMED) from refused
    _answer_when_safe(broker, request)


@handles(ExtensionCode.GET_OPEN_TRANSACTIONS)
@in_slices
def get_open_transactions(broker: Broker, request: Request) -> Steps[Command]:
    """Return the half messages without a decision, as a JSON object.

    Only a limited number of the records that the checks have not reached is read. If there are
    more, the answer says that it is incomplete.

    Raises:
        RequestRefused: a record of the half or op topic cannot be read.
    """
    half_offset, half_end = _unchecked(broker, HALF_TOPIC)
    op_offset, op_end = _unchecked(broker, OP_HALF_TOPIC)
    try:
        ops, has_all_ops = yield from _records(broker, OP_HALF_TOPIC, op_offset, op_end)
        halves, has_all = yield from _records(broker, HALF_TOPIC, half_offset, half_end)
    except RecordDamaged as error:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, str(error)) from None
    decided = {op_half_offset(op) for op in ops}
    undecided = [half for half in halves if half.queue_offset not in decided]
    body = OpenTransactions(
        transactions=[_opened(half) for half in undecided[:OPEN_COUNT_MAX]],
        is_complete=has_all_ops and has_all and len(undecided) <= OPEN_COUNT_MAX,
        half_offset=half_offset,
        op_offset=op_offset,
    )
    return request.command.response(body=body.encode())


def _unchecked(broker: Broker, topic: str) -> tuple[int, int]:
    """Return the queue offset that the checks have reached in a topic, and its end."""
    next_offset = broker.offsets.get(GROUP, topic, queue_id=QUEUE_ID)
    first = max(next_offset, broker.store.min_offset(topic, QUEUE_ID))
    return first, broker.store.max_offset(topic, QUEUE_ID)


def _records(
    broker: Broker, topic: str, queue_offset: int, end: int
) -> Steps[tuple[list[Record], bool]]:
    """Return the records up to a queue offset, and whether one answer can hold them all."""
    reader = broker.store.reader
    records: list[Record] = []
    while queue_offset < end and len(records) < SCAN_COUNT_MAX:
        read = partial(
            reader.get_message, topic, QUEUE_ID, queue_offset,
            count_max=READ_COUNT, size_max=READ_SIZE,
        )  # fmt: skip
        decoded = yield from read_in_slices(broker, read)
        if decoded.status is GetStatus.FOUND:
            records += decode_records(b"".join(decoded.chunks))
        queue_offset = max(decoded.next_offset, queue_offset + 1)
        yield None
    return records, queue_offset >= end


def _find(broker: Broker, fields: EndTransaction) -> Record:
    """Return the half message that a decision is about.

    Raises:
        RequestRefused: there is no such half message, or group or queue offset do not match.
    """
    half = record_at(broker.store, fields.commit_log_offset)
    if half is None or not is_half_message(half):
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, _NOT_FOUND)
    if producer_group(half.properties) != fields.producer_group:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, "The producer group wrong")
    if half.queue_offset != fields.tran_state_table_offset:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, "The transaction state table offset wrong")
    return half


def _delayed(
    broker: Broker, message: PutMessage, named: Mapping[str, str], now_ms: int
) -> PutMessage:
    """Return a committed message, redirected if it has a delay level or a time of delivery."""
    level = broker.levels.level_of(named.get(DELAY, "0"))
    if level > 0:
        delay_ms = broker.levels.delay_ms(level)
        redirect(message, named, level=level, delay_ms=delay_ms, now_ms=now_ms)
    else:
        broker.sender.timer_rules.apply(message, named, now_ms=now_ms)
    return message


def _answer_when_safe(broker: Broker, request: Request, *, remark: str | None = None) -> None:
    def safe(code: ResponseCode) -> None:
        # As in Java, a message that is stored but not known to be on disk counts as stored.
        if code in (ResponseCode.SUCCESS, ResponseCode.FLUSH_DISK_TIMEOUT):
            answer = request.command.response(remark=remark)
        else:
            answer = request.command.response(code, remark="Service not available now.")
        request.reply(answer)

    broker.group_commit.when_safe(safe)


def _opened(half: Record) -> OpenTransaction:
    named = half.properties
    return OpenTransaction(
        topic=named.get(REAL_TOPIC, ""),
        queue_id=int(named.get(REAL_QUEUE_ID, "-1")),
        producer_group=producer_group(named) or "",
        unique_key=named.get(UNIQUE_KEY, ""),
        msg_id=half.msg_id,
        log_offset=half.log_offset,
        half_offset=half.queue_offset,
        born_ms=half.born_ms,
        store_ms=half.store_ms,
        check_times=check_times(named),
    )
