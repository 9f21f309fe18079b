"""Java's layouts of messages, of queues, and of where a topic is.

Source: tools/command/message/*.java, queue/*.java, topic/TopicRouteSubCommand.java,
topic/AllocateMQSubCommand.java (4.9.7).
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from mqadmin.output.javatext import Record, number, time_text
from mqadmin.topics import parse_perm

LINE: Final = "=" * 38 + "\n"
FIELD: Final = "%-20s %s\n"


def _mapping(value: object) -> Mapping[object, object]:
    return value if isinstance(value, Mapping) else {}


def message(records: Iterable[Record]) -> Iterator[str]:
    """Print the fields of ``queryMsgById`` and ``queryMsgByOffset``.

    Java goes on with the file it put the body into, and with the groups that read the message.
    """
    for record in records:
        yield from _fields(record, with_id=True)


def message_of_producer(records: Iterable[Record]) -> Iterator[str]:
    """Print the fields of ``queryMsgByUniqueKey``, which tells no offset id."""
    for record in records:
        yield from _fields(record, with_id=False)


def _fields(record: Record, *, with_id: bool) -> Iterator[str]:
    keys = record["keys"] if isinstance(record["keys"], list) else []
    properties = _mapping(record["properties"])
    told = {
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
        "Properties:": "{" + ", ".join(f"{k}={v}" for k, v in properties.items()) + "}",
    }
    for name, value in told.items():
        yield FIELD % (name, value)


def handed(records: Iterable[Record]) -> Iterator[str]:
    """Print what ``queryMsgById -g -d`` does."""
    for record in records:
        order, commit = (str(record[name]).lower() for name in ("order", "auto_commit"))
        remark = "null" if record["remark"] is None else record["remark"]
        yield (
            f"ConsumeMessageDirectlyResult [order={order}, autoCommit={commit}, "
            f"consumeResult={record['result']}, remark={remark}, "
            f"spentTimeMills={record['spent_ms']}]"
        )


def sends(records: Iterable[Record]) -> Iterator[str]:
    """Print ``checkMsgSendRT``; its average leaves the first send out."""
    form = "%-32s  %-4s  %-20s    %s\n"
    yield form % ("#Broker Name", "#QID", "#Send Result", "#RT")
    took: list[int] = []
    for record in records:
        took.append(round(float(str(record["took_ms"]))))
        done = str(record["status"] == "SEND_OK").lower()
        yield form % (record["broker"], record["queue_id"], done, took[-1])
    rest = took[1:]
    yield f"Avg RT: {sum(rest) / len(rest) if rest else 0:.2f}\n"


def queue(records: Iterable[Record]) -> Iterator[str]:
    """Print ``queryCq``."""
    for spot, record in enumerate(records):
        if not spot:
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
        held = _mapping(record["addresses"])
        addresses = ",".join(f'{key}:"{one}"' for key, one in held.items())
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
        addresses = ", ".join(f"{key}={one}" for key, one in _mapping(record["addresses"]).items())
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
