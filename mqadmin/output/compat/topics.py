"""Java's layouts of topics by name, and of writes to them.

Rule: a refused write has no line, because Java prints a stack trace there; our exit code reports
it.

Source: tools/command/topic/TopicListSubCommand.java, UpdateTopicSubCommand.java,
UpdateTopicPermSubCommand.java, DeleteTopicSubCommand.java, UpdateOrderConfCommand.java (4.9.7).
"""

from collections.abc import Iterable, Iterator
from typing import Final

from mqadmin.output.compat.java_text import (
    DONE,
    NAME_MAX,
    Line,
    Record,
    cut,
    map_text,
    number,
    object_text,
)
from mqadmin.output.rows import UNCHANGED
from mqadmin.output.topic_kinds import parse_perm
from storefmt.formats.javahash import string_hash
from storefmt.formats.javamaps import hash_order
from storefmt.names import DLQ_PREFIX, RETRY_PREFIX

CLUSTER_MAX: Final = 20
READERS_HEAD: Final = "%-20s  %-48s  %-48s\n"
READERS: Final = "%-20s  %-64s  %-64s\n"
ORDER_CONF: Final = {
    "get": "get orderConf success. topic=[{topic}], orderConf=[{conf}] ",
    "put": "update orderConf success. topic=[{topic}], orderConf=[{conf}]",
    "delete": "delete orderConf success. topic=[{topic}]",
}


def names(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``topicList``, with ``-c`` also the groups of each topic, below a narrower header."""
    if not line.values["groups"]:
        yield from (f"{record['topic']}\n" for record in records)
        return
    yield READERS_HEAD % ("#Cluster Name", "#Topic", "#Consumer Group")
    for record in records:
        topic = str(record["topic"])
        if topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
            continue
        clusters, groups = _names(record["clusters"]), _names(record["groups"])
        for group in hash_order(groups, string_hash) or [""]:
            cluster = cut(clusters[0] if clusters else "", CLUSTER_MAX)
            yield READERS % (cluster, cut(topic, NAME_MAX), cut(group, NAME_MAX))


def _names(value: object) -> list[str]:
    return [str(name) for name in value] if isinstance(value, list) else []


def order_conf(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``updateOrderConf``."""
    method = line.values["method"] or ("get" if line.values["conf"] is None else "put")
    changed = [record for record in records if record["result"] in DONE]
    for record in changed[:1]:
        said = ORDER_CONF[str(method)]
        yield said.format(topic=record["topic"], conf=record["order_conf"])


def update(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``updateTopic``; with its flag of 5.x in the layout of 5.x, which breaks more lines."""
    is_five = "a" in line.flags
    end = "\n" if is_five else ""
    changed = [record for record in records if record["result"] in DONE]
    order = ";".join(f"{record['broker']}:{record['write_queues']}" for record in changed)
    said = f"orderConf. isOrder=true, orderConf=[{order}]" if line.is_on("o") else ""
    is_one = line.flags.get("b") is not None
    if changed and said and is_one:
        yield f"set broker {said}{end}"
    for record in changed:
        yield f"create topic to {record['address']} success.\n"
    if changed and said and not is_one:
        yield f"set cluster {said}{end}"
    if changed:
        # Java's tool of 5.x prints the changes, not what the topic has then.
        later = {"attributes": map_text(line.values["attributes"])} if is_five else {}
        yield _config(changed[-1], **later) + end


def permission(records: Iterable[Record], *, with_config: bool = False) -> Iterator[str]:
    """Print ``updateTopicPerm -c``; that of ``-b`` ends in the settings (``with_config``)."""
    for record in records:
        if record["result"] == UNCHANGED and with_config:
            yield "new perm equals to the old one!\n"
        elif record["result"] in DONE:
            was, new = record["was"], parse_perm(str(record["perm"]))
            old = number(was["perm"]) if isinstance(was, dict) and was else new
            yield f"update topic perm from {old} to {new} in {record['address']} success.\n"
            if with_config:
                yield f"{_config(record)}.\n"


def delete(records: Iterable[Record]) -> Iterator[str]:
    """Print ``deleteTopic``."""
    places = [record for record in records if record["result"] in DONE]
    for cluster in dict.fromkeys(record["cluster"] for record in places if record["cluster"]):
        yield f"delete topic [{places[0]['topic']}] from cluster [{cluster}] success.\n"
    if any(not record["cluster"] for record in places):
        yield f"delete topic [{places[0]['topic']}] from NameServer success.\n"


def _config(record: Record, **later: str) -> str:
    fields = {
        "topicName": record["topic"],
        "readQueueNums": record["read_queues"],
        "writeQueueNums": record["write_queues"],
        "perm": record["perm"],
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": record["sys_flag"],
        "order": record["order"],
        **later,
    }
    return object_text("TopicConfig", fields)


def static_topic(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``updateStaticTopic`` and ``remappingStaticTopic``, which calls both files old."""
    for record in list(records)[:1]:
        files = record["files"]
        if isinstance(files, list | tuple) and files and record["result"] in DONE:
            after = "old" if line.name == "remappingStaticTopic" else "new"
            yield f"The old mapping data is written to file {files[0]}\n"
            yield f"The {after} mapping data is written to file {files[1]}\n"
