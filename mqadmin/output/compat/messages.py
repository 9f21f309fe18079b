"""Java's layouts of messages that are found, sent again and traced, and of queues and routes.

    message fields, file with its body, two blank lines, one track a group without a line end

Source: tools/command/message/*.java, queue/*.java, topic/TopicRouteSubCommand.java,
topic/AllocateMQSubCommand.java (4.9.7).
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from mqadmin.output.compat.java_text import (
    Record,
    body_of,
    map_text,
    mapping,
    number,
    object_text,
    queue_text,
    time_text,
)
from mqadmin.output.topic_kinds import parse_perm
from storefmt.formats.javahash import string_hash
from storefmt.formats.javamaps import hash_order

BODIES: Final = Path("/tmp/rocketmq/msgbodys")
"""Where Java's tool writes bodies, and scripts read them."""
LINE: Final = "=" * 38 + "\n"
FIELD: Final = "%-20s %s\n"
NO_CONSUMER: Final = "\n\nWARN: No Consumer"
FAILED: Final = "failed"
STEP: Final = "%-10s %-20s %-20s %-20s %-10s %-10s\n"


def message(records: Iterable[Record], *, with_id: bool = True) -> Iterator[str]:
    """Print ``queryMsgById`` and ``queryMsgByOffset``: messages, and the groups of their topics.

    Args:
        with_id: False for ``queryMsgByUniqueKey``, which prints no offset id.
    """
    is_open = False
    for record in records:
        if "track_type" in record:
            yield "\n\n" if is_open else ""
            reason = "null" if record["exception"] is None else record["exception"]
            track = {"consumerGroup": record["group"], "trackType": record["track_type"]}
            yield object_text("MessageTrack", track | {"exceptionDesc": reason})
            is_open = False
            continue
        yield NO_CONSUMER if is_open else ""
        yield from _fields(record, with_id=with_id)
        is_open = True
    yield NO_CONSUMER if is_open else ""


def _body_file(record: Record) -> str:
    """Write the body to the file that Java's tool writes it to and return its name.

    The producer chooses the unique key, so a key that is not a plain file name is not used.
    """
    name = str(record["unique_key"] or record["msg_id"])
    path = BODIES / (name if name.isalnum() else str(record["msg_id"]))
    BODIES.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body_of(record))
    return str(path)


def _fields(record: Record, *, with_id: bool) -> Iterator[str]:
    keys = record["keys"] if isinstance(record["keys"], list) else []
    fields = {
        **({"OffsetID:": record["msg_id"]} if with_id else {}),
        "Topic:": record["topic"],
        "Tags:": f"[{'null' if record['tags'] is None else record['tags']}]",
        "Keys:": f"[{' '.join(map(str, keys)) if keys else 'null'}]",
        "Queue ID:": record["queue_id"],
        "Queue Offset:": record["queue_offset"],
        "CommitLog Offset:": record["log_offset"],
        "Reconsume Times:": record["reconsume_times"],
        "Born Timestamp:": time_text(record["born_ms"], millis=True),
        "Store Timestamp:": time_text(record["store_ms"], millis=True),
        "Born Host:": record["born_host"],
        "Store Host:": record["store_host"],
        "System Flag:": record["sys_flag"],
        "Properties:": map_text(record["properties"]),
        "Message Body Path:": _body_file(record),
    }
    for name, value in fields.items():
        yield FIELD % (name, value)


def consume_directly(records: Iterable[Record]) -> Iterator[str]:
    """Print ``queryMsgById -g -d``."""
    for record in records:
        fields = {
            "order": record["order"],
            "autoCommit": record["auto_commit"],
            "consumeResult": record["result"],
            "remark": "null" if record["remark"] is None else record["remark"],
            "spentTimeMills": record["spent_ms"],
        }
        yield object_text("ConsumeMessageDirectlyResult", fields)


def resend(records: Iterable[Record]) -> Iterator[str]:
    """Print ``queryMsgById -s true``."""
    for record in records:
        yield f"prepare resend msg. originalMsgId={record['msg_id']}"
        if record["error"] is None:
            yield _send_result(
                record,
                topic=record["to"],
                unique_key=record["new_unique_key"],
                msg_id=record["new_msg_id"],
                queue_offset=record["new_offset"],
            )


def statuses(records: Iterable[Record]) -> Iterator[str]:
    """Print ``sendMsgStatus``."""
    for record in records:
        if record["status"] == FAILED:
            continue
        send_result = _send_result(
            record,
            topic=record["topic"],
            unique_key=record["unique_key"],
            msg_id=record["msg_id"],
            queue_offset=record["queue_offset"],
        )
        yield f"rt={round(float(str(record['took_ms'])))}ms, SendResult={send_result}\n"


def _send_result(
    record: Record, *, topic: object, unique_key: object, msg_id: object, queue_offset: object
) -> str:
    queue = queue_text(topic, record["broker"], record["queue_id"])
    return (
        f"SendResult [sendStatus={record['status']}, msgId={unique_key}, offsetMsgId={msg_id}, "
        f"messageQueue={queue}, queueOffset={queue_offset}]"
    )


def trace(records: Iterable[Record]) -> Iterator[str]:
    """Print ``queryMsgTraceById``: the send, then how each group consumed it."""
    consumed: dict[str, list[Record]] = {}
    for record in records:
        if record["step"] == "sent":
            yield STEP % (
                *("#Type", "#ProducerGroup", "#ClientHost", "#SendTime", "#CostTimes", "#Status"),
            )
            yield _step("Pub", record)
            yield "\n"
        elif record["step"] == "consumed":
            consumed.setdefault(str(record["group"]), []).append(record)
    for group in hash_order(consumed, string_hash):
        yield STEP % (
            *("#Type", "#ConsumerGroup", "#ClientHost", "#ConsumerTime", "#CostTimes", "#Status"),
        )
        yield from (_step("Sub", record) for record in consumed[group])
        yield "\n"


def _step(kind: str, record: Record) -> str:
    host = str(record["client_host"] or "").rpartition(":")[0].strip("[]")
    return STEP % (
        *(kind, record["group"], host, time_text(record["step_ms"], millis=False)),
        *(f"{number(record['cost_ms'])}ms", "success" if record["success"] else "failed"),
    )


def sends(records: Iterable[Record]) -> Iterator[str]:
    """Print ``checkMsgSendRT``, whose average excludes the first send."""
    form = "%-32s  %-4s  %-20s    %s\n"
    yield form % ("#Broker Name", "#QID", "#Send Result", "#RT")
    took: list[int] = []
    for record in records:
        took.append(round(float(str(record["took_ms"]))))
        is_sent = str(record["status"] == "SEND_OK").lower()
        yield form % (record["broker"], record["queue_id"], is_sent, took[-1])
    rest = took[1:]
    yield f"Avg RT: {sum(rest) / len(rest) if rest else 0:.2f}\n"


def queue(records: Iterable[Record]) -> Iterator[str]:
    """Print ``queryCq``: with ``-g`` the subscription of the group, then the entries."""
    is_first = True
    for record in records:
        if "filter_data" in record:
            filters = ",\n".join(
                f"\t{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}"
                for key, value in sorted(mapping(record["subscription"]).items())
            )
            yield f"Subscription data: \n{{\n{filters}\n}}\n{LINE}"
            yield f"Filter data: \n{record['filter_data']}\n{LINE}"
            continue
        if is_first:
            is_first = False
            ends = f"max: {record['max_offset']}, min: {record['min_offset']}"
            yield f"Queue data: \n{ends}\n{LINE}"
        taken = str(bool(record["taken"])).lower()
        yield f"idx: {record['queue_offset']}\n"
        yield (
            f"ConsumeQueueData{{physicOffset={record['log_offset']}, "
            f"physicSize={record['size']}, tagsCode={record['tags_code']}, "
            f"extendDataJson='null', bitMap='null', eval={taken}, msg='null'}}\n{LINE}"
        )


def route(records: Iterable[Record]) -> Iterator[str]:
    """Print ``topicRoute``: JSON but for the broker ids, which have no quotes."""
    brokers, queues = [], []
    for record in records:
        addresses_by_id = mapping(record["addresses"])
        addresses = ",".join(f'{key}:"{address}"' for key, address in addresses_by_id.items())
        brokers.append(
            f'\t\t{{\n\t\t\t"brokerAddrs":{{{addresses}\n\t\t\t}},\n'
            f'\t\t\t"brokerName":"{record["broker"]}",\n'
            f'\t\t\t"cluster":"{record["cluster"]}"\n\t\t}}'
        )
        queues.append(
            f'\t\t{{\n\t\t\t"brokerName":"{record["broker"]}",\n'
            f'\t\t\t"perm":{parse_perm(str(record["perm"]))},\n'
            f'\t\t\t"readQueueNums":{record["read_queues"]},\n'
            f'\t\t\t"topicSysFlag":{record["sys_flag"]},\n'
            f'\t\t\t"writeQueueNums":{record["write_queues"]}\n\t\t}}'
        )
    between = ",\n"
    yield f'{{\n\t"brokerDatas":[\n{between.join(brokers)}\n\t],\n'
    yield f'\t"filterServerTable":{{}},\n\t"queueDatas":[\n{between.join(queues)}\n\t]\n}}\n'


def route_list(records: Iterable[Record]) -> Iterator[str]:
    """Print ``topicRoute -l``."""
    form = "%-45s %-32s %-50s %-10s %-11s %-5s\n"
    yield form % (
        *("#ClusterName", "#BrokerName", "#BrokerAddrs"),
        *("#ReadQueue", "#WriteQueue", "#Perm"),
    )
    brokers = read = write = 0
    for record in records:
        addresses = ", ".join(
            f"{key}={address}" for key, address in mapping(record["addresses"]).items()
        )
        brokers += 1
        read += number(record["read_queues"])
        write += number(record["write_queues"])
        perm = parse_perm(str(record["perm"]))
        yield form % (
            *(record["cluster"], record["broker"], f"{{{addresses}}}"),
            *(record["read_queues"], record["write_queues"], perm),
        )
    yield "-" * 158 + "\n"
    yield form % ("Total:", brokers, "", read, write, "")


def allocation(records: Iterable[Record]) -> Iterator[str]:
    """Print ``allocateMQ``."""
    by_client: dict[str, list[dict[str, object]]] = {}
    for record in records:
        place = {
            "brokerName": record["broker"],
            "queueId": record["queue_id"],
            "topic": record["topic"],
        }
        by_client.setdefault(str(record["client_id"]), []).append(place)
    yield json.dumps({"result": by_client}, separators=(",", ":")) + "\n"
