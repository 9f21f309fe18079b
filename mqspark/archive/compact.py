"""Maintenance of an archive: small files become large ones, old ones go, and so do abandoned ones.

    compact    many small files of a topic, broker and day --> few large ones, with the same rows
    expire     files whose last message is older than a time --> they no longer count
    clean      files that do not count, and that nobody reads or writes any more --> deleted

Rule: compaction and expiry are commits like all others: new files are there before they count, and
old ones count until then, so that a run that dies changes nothing. Positions stay as they are:
what has expired is not archived again. Neither deletes a file, since somebody may be reading it;
only ``clean`` does, by an age that the user chooses.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mqspark.archive.archive import ARCHIVE_COLUMNS, Archive
from mqspark.archive.manifests import ArchiveFile
from mqspark.archive.write import DayFiles, plain_records, read_rows
from mqspark.errors import BadArchive
from mqspark.packing import packed
from mqspark.places import StorageDir

FILE_BYTES: Final = 256 << 20
"""The size that compaction aims at."""


Compaction = tuple[ArchiveFile, ...]
"""Files of one topic, broker and day that become one, or one for each day if they are old."""


def compactions(
    files: Iterable[ArchiveFile], *, file_bytes: int = FILE_BYTES
) -> Iterator[Compaction]:
    """Yield the files that compaction would join.

    Files of at least half the size stay as they are. So do single ones, except those of format 1,
    which may have messages of several days.
    """
    by_day = sorted(files, key=lambda file: (file.topic, file.broker, file.day or ""))
    for (_, _, day), group in itertools.groupby(
        by_day, key=lambda file: (file.topic, file.broker, file.day)
    ):
        small = [file for file in group if day is None or file.size < file_bytes // 2]
        small.sort(key=lambda file: file.first_log_offset or 0)
        for files_together in packed(small, lambda file: file.size, size_max=file_bytes):
            if day is None or len(files_together) > 1:
                yield files_together


def compact_files(
    place: StorageDir, old: Compaction, *, decompress: bool = True
) -> list[ArchiveFile]:
    """Write the rows of some files into new ones, and return these.

    Args:
        place: the archive.
        old: the files.
        decompress: whether bodies that earlier versions kept compressed are written as they were
            sent.

    Raises:
        BadArchive: a file has another number of rows than the archive says.
        OSError: a file cannot be read or written.
    """
    with DayFiles(place, old[0].topic, old[0].broker) as files:
        for file in old:
            for batch in read_rows(place, file, ARCHIVE_COLUMNS):
                for part in plain_records(batch) if decompress else (batch,):
                    files.add(part)
        written = files.finish()
    rows, row_count = sum(file.rows for file in written), sum(file.rows for file in old)
    if rows != row_count:
        names = ", ".join(file.path for file in old)
        raise BadArchive(
            f"{place.uri}: {rows} messages instead of {row_count} in {names}; "
            "restore them from a copy"
        )
    return written


def expired_files(
    archive: Archive, *, before_ms: int, topics: Sequence[str] | None = None
) -> list[ArchiveFile]:
    """Return the files all of whose messages were stored before a time.

    Messages without a time do not expire.

    Raises:
        OSError: a file of format 1 cannot be read.
    """
    expired = []
    for file in archive.files(topics=topics):
        last_ms = _last_ms(archive.place, file) if file.day is None else file.last_ms
        if last_ms is not None and last_ms < before_ms:
            expired.append(file)
    return expired


def _last_ms(place: StorageDir, file: ArchiveFile) -> int | None:
    """Return the highest store time of a file of format 1, whose manifest does not say it."""
    with place.filesystem().open_input_file(place.path(file.path)) as source:
        times = pq.read_table(source, columns=["store_timestamp"]).column(0).cast(pa.int64())
    highest = pc.max(times).as_py()
    return None if highest is None else highest // 1_000


def unused_files(archive: Archive, *, before_ms: int) -> list[tuple[str, int]]:
    """Return name and size of the files that do not count, and did not before a time either.

    That is the time when a file was retired; of a file that never counted, when it was written.

    Raises:
        BadArchive: the place does not tell when files were written.
        OSError: the place cannot be read.
    """
    unused = []
    for file, retired_ms in archive.abandoned():
        if file.changed_ms is None:
            raise BadArchive(
                f"{archive.place.uri} does not tell when its files were written, so nothing says "
                f"whether {file.name} is old; delete it by hand if no run writes"
            )
        if max(file.changed_ms, retired_ms or 0) < before_ms:
            unused.append((file.name, file.size))
    return unused
