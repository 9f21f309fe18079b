"""Complete a commit whose second record a crash cut off.

    log  … | half message | … | committed message | op message |
                                                  ^ the log ends here after the crash

Both records of a commit are put in one turn of the loop, the op message directly behind the
committed one. So only the last record of the log can be a commit without its op message. The
committed message names the log offset of its half message, which identifies the op message that is
missing. Without it the producer would be asked, and its answer would deliver the message again.

Rule: the message counts as the commit of the half message only if body, birth and unique key are
equal. If they are not, a producer is asked: in doubt a message is delivered twice rather than
not at all.

Source: none, Java asks the producer again.
"""

import logging

from mqserver.broker.transaction.half_messages import is_half_message, op_message
from mqserver.store.results import PutMessage
from mqserver.store.store import MessageStore
from storefmt.errors import RecordDamaged
from storefmt.formats.message import Record, decode_record
from storefmt.formats.properties import UNIQUE_KEY
from storefmt.formats.sysflag import TRANSACTION_COMMIT, TRANSACTION_MASK

LOG = logging.getLogger(__name__)


def missing_decision(store: MessageStore, *, store_host: bytes, now_ms: int) -> PutMessage | None:
    """Return the op message of the commit at the end of the log; None if no commit is there.

    Args:
        store: a store that was just opened, or that stopped to copy the log of its master.
        store_host: packed host of this broker.
        now_ms: the birth time of the op message.
    """
    last = record_at(store, store.last_log_offset)
    if last is None or last.sys_flag & TRANSACTION_MASK != TRANSACTION_COMMIT:
        return None
    half = record_at(store, last.prepared_transaction_offset)
    if half is None or not is_half_message(half):
        return None
    if _identity(half) != _identity(last):
        return None
    LOG.info("completing the commit at log offset %d with its op message", last.log_offset)
    return op_message(half, store_host=store_host, now_ms=now_ms)


def _identity(record: Record) -> tuple[bytes, int, bytes, str | None]:
    return record.body, record.born_ms, record.born_host, record.properties.get(UNIQUE_KEY)


def record_at(store: MessageStore, log_offset: int) -> Record | None:
    """Return the record that begins at a log offset; None if there is no whole one.

    Raises:
        ColdRead: its bytes are not in the page cache, and this turn must not wait for the disk.
    """
    data = store.reader.read_record(log_offset) if log_offset >= 0 else None
    if data is None:
        return None
    try:
        record = decode_record(data)
    except RecordDamaged as error:
        LOG.warning("cannot read a record at log offset %d: %s", log_offset, error)
        return None
    return record if record.log_offset == log_offset else None
