"""``restore``: restores an archive into a topic, or into a new store directory.

    --store DIR    commit log files, which both brokers open (``mqspark.archive.restore_log``)
    --topic …      messages that are sent once more (``mqspark.archive.restore_topic``)

Rule: a store appears under its name when it is whole: it is built under another name beside that
and renamed at the end, so a restore that was killed starts over. It never replaces an existing
directory. Both engines write the same bytes.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mqspark.archive.archive import opened
from mqspark.archive.restore_log import FILE_SIZE, build_part, plan_log, write_topics
from mqspark.archive.restore_topic import send, send_tasks
from mqspark.errors import BadOption
from mqspark.jobs.each import run_each
from mqspark.sources.live.options import sink_settings
from storefmt.paths import StorePaths, log_file_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Restored(NamedTuple):
    """What was restored of a topic, or into a file of a commit log."""

    target: str
    source: str
    messages: int


def restore_store(
    path: str,
    store: str,
    *,
    topics: Sequence[str] | None = None,
    broker: str | None = None,
    file_size: int = FILE_SIZE,
    spark: "SparkSession | None" = None,
) -> list[Restored]:
    """Build a store directory from an archive; return a row for each commit log file.

    Args:
        path: the archive.
        store: the directory to make; with Spark, on a disk that all workers see.
        topics: the topics to restore, None for all.
        broker: the broker whose messages are restored; required if the archive has several.
        file_size: bytes of a commit log file.
        spark: the session; without it everything is done in this process.

    Raises:
        BadOption: the directory exists, or as ``plan_log``.
        BadArchive: there is no archive, or it changed.
        OSError: a file cannot be read or written.
    """
    target = Path(store)
    if target.exists():
        raise BadOption(f"{store} exists; name a directory that does not")
    archive = opened(path)
    plan = plan_log(archive, topics=topics, broker=broker, file_size=file_size)
    draft = target.with_name(f"{target.name}.restoring")
    # An earlier restore that was killed may have left this directory.
    if draft.exists():
        shutil.rmtree(draft)
    commitlog = StorePaths(draft).commitlog
    commitlog.mkdir(parents=True)
    place = archive.place
    counts = run_each(spark, plan.parts, lambda part: build_part(place, plan, part, commitlog))
    write_topics(plan, draft)
    draft.rename(target)
    return [
        Restored(log_file_name(part.base), path, count)
        for part, count in zip(plan.parts, counts, strict=True)
    ]


def restore_topic(
    path: str,
    options: Mapping[str, str],
    *,
    topics: Sequence[str] | None = None,
    keep_queues: bool = False,
    spark: "SparkSession | None" = None,
) -> list[Restored]:
    """Send the messages of an archive; return a row for each topic and broker of origin.

    Args:
        path: the archive.
        options: those of the sink: ``namesrv``, and ``topic`` to send all to one topic.
        topics: the topics to restore, None for all.
        keep_queues: whether to send to the queue of the same number.
        spark: the session; without it everything is done in this process.

    Raises:
        BadOption: an option of the sink is wrong.
        BadArchive: there is no archive.
        ClientError: a message could not be sent; run it again, ids show what was sent twice.
    """
    sink = sink_settings(options)
    archive = opened(path)
    place = archive.place
    tasks = send_tasks(archive.files(topics=topics))
    counts = run_each(spark, tasks, lambda task: send(place, sink, task, keep_queues=keep_queues))
    return [
        Restored(sink.topic or task.topic, f"{task.topic}@{task.broker}", count)
        for task, count in zip(tasks, counts, strict=True)
    ]
