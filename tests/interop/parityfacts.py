"""What a script would take out of the outputs: of the Java mqadmin's text and of our rows."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from tests.interop.kit.our_mqadmin import OurMqadmin, Row

Facts = set[tuple[str, ...]]


def our_rows(namesrv: str, home: Path, *words: str, **env: str) -> list[Row]:
    """Run our command, which must end well, and return its rows."""
    return OurMqadmin(namesrv, {"HOME": str(home), **env})(*words, "--yes")


def columns(*spots: int, start: str = "") -> Callable[[str], Facts]:
    """Return a reader of a table: these columns of every line that is no header."""

    def read(text: str) -> Facts:
        found = set()
        for line in text.splitlines():
            words = line.split()
            if len(words) > max(spots) and not line.startswith("#") and line.startswith(start):
                found.add(tuple(words[spot] for spot in spots))
        return found

    return read


def fields(*names: str) -> Callable[[list[Row]], Facts]:
    """Return a reader of our rows: these fields, as text."""
    return lambda rows: {tuple(str(row[name]) for name in names) for row in rows}


def pattern(text: str) -> Callable[[str], Facts]:
    """Return a reader of a text: the groups of every match."""
    compiled = re.compile(text, re.MULTILINE)
    return lambda found: {match.groups() for match in compiled.finditer(found)}


def names_of(text: str) -> Facts:
    """Read the names of ``name : value`` or ``name = value`` lines, without paths in them."""
    found = re.findall(r"^(\w[\w.]*)[^:=\n]*?\s*[:=]", text, re.MULTILINE)
    return {(name,) for name in found}


def known_names(rows: list[Row]) -> Facts:
    """Read the keys of our rows, without paths in them."""
    return {(re.split(r"[^\w.]", row["key"])[0],) for row in rows}


MESSAGE = {
    "Topic": "topic",
    "Tags": "tags",
    "Keys": "keys",
    "Queue ID": "queue_id",
    "Queue Offset": "queue_offset",
    "CommitLog Offset": "log_offset",
    "Reconsume Times": "reconsume_times",
    "Born Host": "born_host",
    "Store Host": "store_host",
    "System Flag": "sys_flag",
}


def java_message(text: str) -> Facts:
    """Read the lines that describe one message."""
    found = set()
    for line in text.splitlines():
        label, value = line[:20].strip().rstrip(":"), line[20:].strip()
        if label in MESSAGE:
            found.add((MESSAGE[label], value.strip("[]")))
    return found


def our_message(rows: list[Row]) -> Facts:
    """Read the same of our row."""
    (row,) = rows
    told = {name: row[name] for name in MESSAGE.values()}
    return {
        (name, " ".join(value) if isinstance(value, list) else str(value))
        for name, value in told.items()
    }


def java_route(text: str) -> Facts:
    """Read a route, whose broker ids lack their quotes."""
    data = json.loads(re.sub(r"([{,]\s*)(\d+):", r'\1"\2":', text))
    addresses = {one["brokerName"]: one["brokerAddrs"]["0"] for one in data["brokerDatas"]}
    return {
        (
            queue["brokerName"],
            addresses[queue["brokerName"]],
            str(queue["readQueueNums"]),
            str(queue["writeQueueNums"]),
        )
        for queue in data["queueDatas"]
    }


def our_route(rows: list[Row]) -> Facts:
    """Read the same of our rows."""
    return {
        (row["broker"], row["addresses"]["0"], str(row["read_queues"]), str(row["write_queues"]))
        for row in rows
    }


def java_allocation(text: str) -> Facts:
    """Read who gets a queue."""
    made = json.loads(text)["result"]
    return {(who,) for who, queues in made.items() if queues}


def java_connection(text: str) -> Facts:
    """Read members and subscriptions of a group."""
    clients = re.findall(r"^(\S+@\S+)\s+\S+:\d+\s+JAVA", text, re.MULTILINE)
    modes = re.findall(r"^(?:ConsumeType|MessageModel): (\w+)", text, re.MULTILINE)
    return {(one,) for one in (*clients, *modes)}


def our_connection(rows: list[Row]) -> Facts:
    """Read the same of our row."""
    (row,) = rows
    clients = {(one["client_id"],) for one in row["connections"]}
    return clients | {(row["consume_type"],), (row["message_model"],)}


_SETTING = re.compile(r"^(\w+)[ \t]*=[ \t]*(.*)$", re.MULTILINE)


def java_settings(text: str) -> Facts:
    """Read ``name = value`` lines."""
    return {(name, value.strip()) for name, value in _SETTING.findall(text)}


GROUP_FIELDS = {
    "consumeEnable": "consume_enable",
    "consumeFromMinEnable": "consume_from_min_enable",
    "consumeBroadcastEnable": "consume_broadcast_enable",
    "retryQueueNums": "retry_queue_nums",
    "retryMaxTimes": "retry_max_times",
    "brokerId": "broker_id",
}


def java_group(text: str) -> Facts:
    """Read the settings of a group."""
    return {(name, value) for name, value in java_settings(text) if name in GROUP_FIELDS}


def our_group(rows: list[Row]) -> Facts:
    """Read the same of our row."""
    (row,) = rows
    return {(name, str(row[ours]).lower()) for name, ours in GROUP_FIELDS.items()}
