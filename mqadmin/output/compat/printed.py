"""Java's layouts of messages that are read queue by queue.

    printMsg          a line a queue, its messages, a rule of dashes
    printMsgByQueue   messages with ``-p true``, counts of tags with ``-f true``; else nothing
    consumeMessage    a line a pull that found messages, and the messages

Rule: records of pulls (``status``) stand between those of messages; a store only gives messages.

Source: tools/command/message/PrintMessageSubCommand.java, PrintMessageByQueueCommand.java,
ConsumeMessageCommand.java; common/message/Message.java, MessageExt.java (4.9.7).
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from mqadmin.output.compat.java_text import (
    Line,
    Record,
    body_of,
    java_string,
    map_text,
    mapping,
    queue_text,
)

START: Final = "START"
RULE: Final = "-" * 56 + "\n"
NO_BODY: Final = "NOT PRINT BODY"
FOUND: Final = "FOUND"


def queues(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``printMsg``."""
    is_open = False
    for record in records:
        if "status" not in record:
            yield _message(record, has_body=line.is_on("d", default=True))
        elif record["status"] == START:
            yield RULE if is_open else ""
            ends = f"minOffset={record['min_offset']}, maxOffset={record['max_offset']}"
            yield f"{ends}, {_queue(record)}\n"
            is_open = True
        elif record["status"] != FOUND:
            yield _nothing_found(record)
    yield RULE if is_open else ""


def one_queue(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``printMsgByQueue``."""
    tags: Counter[str] = Counter()
    for record in records:
        if "status" in record:
            continue
        if record["tags"]:
            tags[str(record["tags"])] += 1
        if line.is_on("p"):
            yield _message(record, has_body=line.is_on("d"))
    if line.values["count_tags"]:
        for tag, count in tags.most_common():
            yield f"Tag: {tag:<30} Count: {count}\n"


def consume(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``consumeMessage``, whose two forms spell one word differently."""
    for record in records:
        if "status" not in record:
            yield _message(record, has_body=True)
        elif record["status"] == START:
            count, queue_id = record["cut_to"], record["queue_id"]
            if count is not None and line.values["queue"] is None:
                yield f"The older {count} message of the {queue_id} queue will be provided\n"
            elif count is not None:
                yield f"The oldler {count} message will be provided\n"
        elif record["status"] == FOUND:
            yield "Consume ok\n"
        else:
            yield _nothing_found(record)


def _nothing_found(record: Record) -> str:
    said = "no matched msg" if record["status"] == "NO_MATCHED_MSG" else "print msg finished"
    how = f"status={record['status']}, offset={record['next_offset']}"
    return f"{_queue(record)} {said}. {how}\n"


def _queue(record: Record) -> str:
    return queue_text(record["topic"], record["broker"], record["queue_id"])


def _message(record: Record, *, has_body: bool) -> str:
    shown = body_of(record).decode("utf-8", "replace") if has_body else NO_BODY
    name = record["unique_key"] or record["msg_id"]
    return f"MSGID: {name} {message_text(record)} BODY: {shown}\n"


def message_text(record: Record) -> str:
    """Return a message as ``MessageExt.toString`` does; bytes are signed."""
    values = ", ".join(str((byte ^ 128) - 128) for byte in body_of(record))
    prepared = java_string(mapping(record["properties"]).get("TRAN_MSG")) == "true"
    return message_form(
        record,
        broker=record["broker"],
        properties=map_text(record["properties"]),
        body=f"[{values}]",
        transaction=record["unique_key"] if prepared else "null",
    )


def message_form(
    record: Record, *, broker: object, properties: str, body: str, transaction: object
) -> str:
    """Return the form of ``message_text``; the tools differ in the values that are named."""
    return (
        f"MessageExt [brokerName={broker}, queueId={record['queue_id']}, "
        f"storeSize={record['size']}, queueOffset={record['queue_offset']}, "
        f"sysFlag={record['sys_flag']}, bornTimestamp={record['born_ms']}, "
        f"bornHost=/{record['born_host']}, storeTimestamp={record['store_ms']}, "
        f"storeHost=/{record['store_host']}, msgId={record['msg_id']}, "
        f"commitLogOffset={record['log_offset']}, bodyCRC={record['body_crc']}, "
        f"reconsumeTimes={record['reconsume_times']}, "
        f"preparedTransactionOffset={record['prepared_transaction_offset']}, "
        f"toString()=Message{{topic='{record['topic']}', flag={record['flag']}, "
        f"properties={properties}, body={body}, transactionId='{transaction}'}}]"
    )
