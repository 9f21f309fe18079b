"""``archive compact``, ``archive expire`` and ``archive clean``: the upkeep of an archive.

Rule: see ``mqspark.archive.compact``. Compaction commits as it goes on, so that a run that dies
keeps what it has done. With Spark the workers rewrite files, one task for each file to make; the
other two jobs only read and write names.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mqspark.archive.archive import Archive, locked, opened, writer
from mqspark.archive.compact import (
    Compaction,
    compact_files,
    compactions,
    expired_files,
    unused_files,
)
from mqspark.archive.manifests import file_of
from mqspark.jobs.each import run_each
from mqspark.places import StorageDir

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMMIT_TASKS: Final = 64
"""The tasks of a compaction between two commits."""


class Compacted(NamedTuple):
    """Files of one topic, broker and day that became fewer."""

    commit: int
    topic: str
    broker: str
    messages: int
    files_before: int
    files: int
    size_before: int
    size: int


class Expired(NamedTuple):
    """A file that no longer counts."""

    topic: str
    broker: str
    messages: int
    size: int
    path: str


class DeletedFile(NamedTuple):
    """A file that was deleted."""

    path: str
    size: int


def compact(
    path: str,
    *,
    topics: Sequence[str] | None = None,
    decompress: bool = True,
    spark: "SparkSession | None" = None,
) -> Iterator[Compacted]:
    """Make few large files of many small ones; yield a row for each group once it is committed.

    Args:
        path: the archive.
        topics: the topics to compact, None for all.
        decompress: as for ``compact_files``.
        spark: the session; without it everything is done in this process.

    Raises:
        BadArchive: there is no archive, another process writes to it, or a file lacks messages.
    """
    opened(path)
    with writer(StorageDir(path)) as archive:
        planned = list(compactions(archive.files(topics=topics)))
        for first in range(0, len(planned), COMMIT_TASKS):
            some = planned[first : first + COMMIT_TASKS]
            yield from _compacted(archive, some, spark, decompress=decompress)


def _compacted(
    archive: Archive,
    planned: Sequence[Compaction],
    spark: "SparkSession | None",
    *,
    decompress: bool,
) -> Iterator[Compacted]:
    place = archive.place

    def work(old: Compaction) -> list[dict[str, Any]]:
        return [file._asdict() for file in compact_files(place, old, decompress=decompress)]

    made = [[file_of(value) for value in values] for values in run_each(spark, planned, work)]
    number = archive.commit(
        [file for files in made for file in files],
        {},
        retired=[file for old in planned for file in old],
    )
    for old, files in zip(planned, made, strict=True):
        yield Compacted(
            number,
            old[0].topic,
            old[0].broker,
            sum(file.rows for file in files),
            len(old),
            len(files),
            sum(file.size for file in old),
            sum(file.size for file in files),
        )


def expire(path: str, *, before_ms: int, topics: Sequence[str] | None = None) -> list[Expired]:
    """Let the files expire all of whose messages were stored before a time; return them.

    Args:
        path: the archive.
        before_ms: the time, epoch ms.
        topics: the topics to look at, None for all.

    Raises:
        BadArchive: there is no archive, or another process writes to it.
    """
    opened(path)
    with writer(StorageDir(path)) as archive:
        old = expired_files(archive, before_ms=before_ms, topics=topics)
        if old:
            archive.commit([], {}, retired=old)
    return [Expired(file.topic, file.broker, file.rows, file.size, file.path) for file in old]


def clean(path: str, *, before_ms: int) -> list[DeletedFile]:
    """Delete the files that do not count, and did not before a time either; return them.

    Args:
        path: the archive.
        before_ms: the time, epoch ms. On object storage it must be before the start of any run that
            still writes, since nothing else tells its files from those of a run that was killed.

    Raises:
        BadArchive: there is no archive, or another process of this machine writes to it.
    """
    opened(path)
    place = StorageDir(path)
    with locked(place):
        unused = unused_files(Archive(place), before_ms=before_ms)
        for name, _ in unused:
            place.remove(name)
    return [DeletedFile(name, size) for name, size in unused]


def explain_compact(
    path: str, *, topics: Sequence[str] | None = None, decompress: bool = True
) -> str:
    """Return what ``compact`` would do, as text, whether it decompresses bodies or not.

    Raises:
        BadArchive: there is no archive.
    """
    planned = list(compactions(opened(path).files(topics=topics)))
    return f"compact: {sum(map(len, planned))} files would become about {len(planned)}"


def explain_expire(path: str, *, before_ms: int, topics: Sequence[str] | None = None) -> str:
    """Return what ``expire`` would do, as text.

    Raises:
        BadArchive: there is no archive.
    """
    old = expired_files(opened(path), before_ms=before_ms, topics=topics)
    return f"expire: {sum(file.rows for file in old)} messages in {len(old)} files"


def explain_clean(path: str, *, before_ms: int) -> str:
    """Return what ``clean`` would do, as text.

    Raises:
        BadArchive: there is no archive.
    """
    unused = unused_files(opened(path), before_ms=before_ms)
    return f"clean: {len(unused)} files of {sum(size for _, size in unused)} bytes"
