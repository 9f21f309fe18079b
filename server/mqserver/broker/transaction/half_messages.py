r"""The records for each step of a transaction.

    send      -> RMQ_SYS_TRANS_HALF_TOPIC, queue 0     + REAL_TOPIC, REAL_QID
    commit    -> the real topic and queue              sys flag 8, prepared offset
    decided   -> RMQ_SYS_TRANS_OP_HALF_TOPIC, queue 0  TAGS=d, body = its half queue offset
    asked     -> the half topic once more              TRANSACTION_CHECK_TIMES + 1
    given up  -> TRANS_CHECK_MAX_TIME_TOPIC, queue 0
    resumed   -> the half topic once more              TRANSACTION_CHECK_TIMES 0

Rule: the state of a half message is read from its record; nothing is kept in memory for an open
transaction. The op topic shows whether it was decided. As in Java, committed records keep
REAL_TOPIC, REAL_QID and TRAN_MSG in their properties.

Source: broker/transaction/queue/TransactionalMessageBridge.java,
broker/processor/EndTransactionProcessor.java,
broker/transaction/queue/DefaultTransactionalMessageCheckListener.java (4.9.7).
"""

from collections.abc import Mapping
from typing import Final

from mqserver.broker.names import topic_fault
from mqserver.broker.stored_properties import put_again
from mqserver.store.results import PutMessage, PutResult
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import CheckTransactionState
from storefmt.formats.javahash import tags_code
from storefmt.formats.message import Record
from storefmt.formats.msgid import offset_id
from storefmt.formats.properties import (
    PRODUCER_GROUP,
    REAL_QUEUE_ID,
    REAL_TOPIC,
    TRANSACTION_CHECK_TIMES,
    TRANSACTION_PREPARED,
    TRANSACTION_PREPARED_QUEUE_OFFSET,
    UNIQUE_KEY,
    in_java_order,
    parse_properties,
)
from storefmt.formats.sysflag import TRANSACTION_COMMIT, TRANSACTION_MASK
from storefmt.names import CHECK_MAX_TIME_TOPIC, HALF_TOPIC, OP_HALF_TOPIC

GROUP: Final = "CID_RMQ_SYS_TRANS"
"""Consumer group whose offsets are the progress of the checks."""
QUEUE_ID: Final = 0

_HALF_BYTES: Final = HALF_TOPIC.encode()
_OP_BYTES: Final = OP_HALF_TOPIC.encode()
_REMOVED_TAG: Final = "d"
_OP_PROPERTIES: Final = b"WAIT\x01true\x02TAGS\x01d"
_OP_TAGS_CODE: Final = tags_code(_REMOVED_TAG)


def is_half_message(record: Record) -> bool:
    """Return whether a record waits in the half topic, and names a valid topic and queue."""
    return record.topic == HALF_TOPIC and _has_destination(record)


def is_discarded(record: Record) -> bool:
    """Return whether a record is a half message in TRANS_CHECK_MAX_TIME_TOPIC."""
    return record.topic == CHECK_MAX_TIME_TOPIC and _has_destination(record)


def _has_destination(record: Record) -> bool:
    named = record.properties
    queue_id = named.get(REAL_QUEUE_ID, "")
    return topic_fault(named.get(REAL_TOPIC)) is None and queue_id.isdecimal()


def check_times(named: Mapping[str, str]) -> int:
    """Return how often a half message was checked, 0 for never, -1 for an invalid number."""
    text = named.get(TRANSACTION_CHECK_TIMES, "0")
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) < 10 else -1


def is_prepared(named: Mapping[str, str] | None) -> bool:
    """Return whether a message is transactional by its properties (TRAN_MSG)."""
    return named is not None and named.get(TRANSACTION_PREPARED, "").lower() == "true"


def prepare(message: PutMessage, named: Mapping[str, str]) -> None:
    """Change a message that was sent into a half message.

    Args:
        message: changed in place.
        named: its properties in the map's insertion order, WAIT included.
    """
    changed = {**named, REAL_TOPIC: message.topic, REAL_QUEUE_ID: str(message.queue_id)}
    message.properties = in_java_order(changed).encode()
    message.topic, message.topic_bytes = HALF_TOPIC, _HALF_BYTES
    message.queue_id = QUEUE_ID
    message.sys_flag &= ~TRANSACTION_MASK


def commit_message(half: Record) -> PutMessage:
    """Return the real message of a half message that is committed."""
    named = parse_properties(half.properties_raw)
    topic = named[REAL_TOPIC]
    message = put_again(half, named, topic=topic, queue_id=int(named[REAL_QUEUE_ID]))
    message.sys_flag = half.sys_flag & ~TRANSACTION_MASK | TRANSACTION_COMMIT
    message.prepared_transaction_offset = half.log_offset
    return message


def op_message(half: Record, *, store_host: bytes, now_ms: int) -> PutMessage:
    """Return the op message, which says that this half message needs no check any more."""
    return PutMessage(
        topic=OP_HALF_TOPIC,
        topic_bytes=_OP_BYTES,
        queue_id=half.queue_id,
        body=b"%d" % half.queue_offset,
        properties=_OP_PROPERTIES,
        born_ms=now_ms,
        born_host=store_host,
        store_host=store_host,
        tags_code=_OP_TAGS_CODE,
    )


def op_half_offset(op: Record) -> int | None:
    """Return the half queue offset in an op message, or None if it is not valid."""
    body = op.body
    if op.tags != _REMOVED_TAG or len(body) > 19 or not body.isdigit():
        return None
    return int(body)


def copy_half_message(half: Record, named: Mapping[str, str], *, store_host: bytes) -> PutMessage:
    """Return the copy that a check writes; as in Java, without flag and reconsume times."""
    message = put_again(half, named, topic=HALF_TOPIC, queue_id=half.queue_id)
    message.store_host = store_host
    message.flag = message.reconsume_times = 0
    return message


def count_check(named: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a half message after one more check."""
    return {**named, TRANSACTION_CHECK_TIMES: str(check_times(named) + 1)}


def keep_first_offset(named: Mapping[str, str], *, queue_offset: int) -> dict[str, str]:
    """Return the properties of a copy that keeps the queue offset that its producer knows."""
    return {**named, TRANSACTION_PREPARED_QUEUE_OFFSET: str(first_offset(named, queue_offset))}


def first_offset(named: Mapping[str, str], queue_offset: int) -> int:
    """Return the half queue offset that the producer of a half message knows.

    Args:
        named: its properties.
        queue_offset: of this record, which counts if the properties have no valid one.
    """
    text = named.get(TRANSACTION_PREPARED_QUEUE_OFFSET, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else queue_offset


def discard_message(half: Record, named: Mapping[str, str]) -> PutMessage:
    """Return the message for TRANS_CHECK_MAX_TIME_TOPIC."""
    return put_again(half, named, topic=CHECK_MAX_TIME_TOPIC, queue_id=QUEUE_ID)


def resume_message(half: Record) -> PutMessage:
    """Return a half message with its check count reset to 0."""
    named = {**parse_properties(half.properties_raw), TRANSACTION_CHECK_TIMES: "0"}
    return put_again(half, named, topic=HALF_TOPIC, queue_id=QUEUE_ID)


def check_request(
    half: Record, named: Mapping[str, str], copy: PutResult, *, host: bytes
) -> Command:
    """Return the check request for a producer (39).

    Args:
        half: the half message; the producer gets it under its real topic.
        named: the properties of its copy.
        copy: the offsets of its copy, with which the producer answers.
        host: packed host of this broker, for the offset id.
    """
    unique_key = named.get(UNIQUE_KEY)
    header = CheckTransactionState(
        tran_state_table_offset=copy.queue_offset,
        commit_log_offset=copy.log_offset,
        msg_id=unique_key,
        transaction_id=unique_key,
        offset_msg_id=offset_id(host, copy.log_offset),
    )
    shown = half._replace(
        topic=named[REAL_TOPIC],
        queue_id=int(named[REAL_QUEUE_ID]),
        queue_offset=copy.queue_offset,
        log_offset=copy.log_offset,
        properties_raw=in_java_order(named).encode(),
    )
    code = RequestCode.CHECK_TRANSACTION_STATE
    return Command.request(code, header, body=shown.encode(), oneway=True)


def producer_group(named: Mapping[str, str]) -> str | None:
    """Return the producer group that decides, or None if the properties have none."""
    return named.get(PRODUCER_GROUP)
