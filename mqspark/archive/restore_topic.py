"""Restores an archive into topics of live brokers: it sends the messages again.

Rule: each message is sent at least once, like every send. It carries its origin
(``RMQ_SPARK_ID`` = topic@broker@queue@offset), so that consumers can recognise a message that was
sent twice, even by two restores. Messages of one queue are sent in order, one after the other, and
with ``keepQueues`` into the queue of the same number. Body, tags, keys, flag and the user's
properties are those of the original; ids, times and hosts are new, and no message is delayed again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa

from mqspark.archive.manifests import ArchiveFile
from mqspark.archive.write import read_rows
from mqspark.errors import BadArchive
from mqspark.places import StorageDir
from mqspark.sources.inflated import body_as_sent
from mqspark.sources.live.options import SinkSettings
from mqspark.sources.live.write import send_rows
from storefmt.errors import StoreError
from storefmt.formats.properties import SYSTEM_NAMES

ROWS_MAX: Final = 1_000
ID_COLUMN: Final = "restored_from"
_COLUMNS: Final = (
    "topic", "broker_name", "queue_id", "queue_offset", "tags", "keys", "flag", "sys_flag", "body",
    "properties",
)  # fmt: skip
_SENT: Final = pa.schema(
    [
        ("body", pa.binary()),
        ("topic", pa.string()),
        ("tags", pa.string()),
        ("keys", pa.list_(pa.string())),
        ("properties", pa.map_(pa.string(), pa.string())),
        ("flag", pa.int32()),
        ("queue_id", pa.int32()),
        ("sharding_key", pa.string()),
        (ID_COLUMN, pa.string()),
    ]
)


class SendTask(NamedTuple):
    """The files whose messages one task sends: those of one topic and broker, oldest first."""

    topic: str
    broker: str
    files: tuple[ArchiveFile, ...]


def send_tasks(files: Iterable[ArchiveFile]) -> list[SendTask]:
    """Return files by topic and broker, so that no queue is sent from two places at once."""
    by_queue: dict[tuple[str, str], list[ArchiveFile]] = {}
    for file in files:
        by_queue.setdefault((file.topic, file.broker), []).append(file)
    return [SendTask(*key, tuple(by_queue[key])) for key in sorted(by_queue)]


def send(place: StorageDir, sink: SinkSettings, task: SendTask, *, keep_queues: bool) -> int:
    """Send the messages of some files, and return how many were sent.

    Args:
        place: the archive.
        sink: the settings of the sink; its topic, if it has one, replaces that of the messages.
        task: the files.
        keep_queues: whether to send to the queue of the same number.

    Raises:
        BadArchive: a body cannot be decompressed.
        ClientError: a message could not be sent; those before it were sent.
        OSError: a file cannot be read.
    """
    rows = _rows(place, task, keep_queues=keep_queues)
    return send_rows(sink._replace(dedup_key=ID_COLUMN), rows, run_id="")


def _rows(place: StorageDir, task: SendTask, *, keep_queues: bool) -> Iterator[Any]:
    for file in task.files:
        for batch in read_rows(place, file, _COLUMNS):
            for first in range(0, batch.num_rows, ROWS_MAX):
                part = batch.slice(first, ROWS_MAX).to_pylist()
                sent = [_message(row, keep_queues=keep_queues) for row in part]
                yield pa.RecordBatch.from_pylist(sent, schema=_SENT)


def _message(row: Mapping[str, Any], *, keep_queues: bool) -> dict[str, Any]:
    origin = f"{row['topic']}@{row['broker_name']}@{row['queue_id']}"
    where = f"{origin}@{row['queue_offset']}"
    try:
        body = body_as_sent(row["body"], row["sys_flag"])
    except StoreError as error:
        raise BadArchive(f"message {where}: {error}") from error
    own: Sequence[tuple[str, str]] = row["properties"] or ()
    return {
        "body": body,
        "topic": row["topic"],
        "tags": row["tags"],
        "keys": row["keys"],
        "properties": [pair for pair in own if pair[0] not in SYSTEM_NAMES],
        "flag": row["flag"],
        "queue_id": row["queue_id"] if keep_queues else None,
        # One key for each queue keeps its messages in order, whichever queue they go to.
        "sharding_key": None if keep_queues else origin,
        ID_COLUMN: where,
    }
