"""Decides which index files on disk can be used, and which have to be rebuilt.

Rule: index files are derived from the commit log. After a crash only files that were full and
synced according to the checkpoint are kept. A file whose size or header cannot be right is
deleted together with all later files, because they continue it. Recovery rebuilds deleted files
from the log (see ``recover``), so no key is lost.

Source: store/index/IndexService.java#load (which keeps fewer files and rebuilds none).
"""

from mqserver.store.disk.disk import Disk
from mqserver.store.index.index import Index
from mqserver.store.index.index_file import IndexFile
from mqserver.store.results import RecoveryReport
from mqserver.store.store_config import StoreConfig
from storefmt.errors import RecordDamaged
from storefmt.formats.index import ENTRY, HEADER, SLOT, index_file_size
from storefmt.paths import StorePaths


def load_index(
    disk: Disk,
    paths: StorePaths,
    config: StoreConfig,
    *,
    sealed_until_ms: int | None,
    report: RecoveryReport,
) -> Index:
    """Return the index with its usable files; the others are deleted.

    Args:
        disk: the disk that holds the store.
        paths: the store's paths.
        config: the store's settings.
        sealed_until_ms: after a crash, the end of the last file that was synced when it was
            full; None after a proper shutdown.
        report: counts the files to rebuild and gets a note on unexpected sizes.

    Raises:
        OSError: the disk refused.
    """
    names = [name for name in disk.list(paths.index) if name.isdecimal()]
    slot_count, entry_count_max = index_geometry(disk, paths, config, names)
    if names and slot_count != config.max_hash_slot_num:
        report.notes.append(
            f"index files have {slot_count} slots and {entry_count_max} entries, not as "
            "configured; using the values of the files"
        )
    files: list[IndexFile] = []
    for name in names:
        stat = disk.stat(paths.index / name)
        file = None
        if stat is not None and stat.size == index_file_size(slot_count, entry_count_max):
            file = open_index_file(disk, paths, name, slot_count, entry_count_max)
        follows = not files or files[-1].is_full
        if file is None or not follows or not is_usable(file, sealed_until_ms):
            break
        files.append(file)
    index = Index(
        disk, paths.index, slot_count=slot_count, entry_count_max=entry_count_max, files=files
    )
    for name in names[len(files) :]:
        disk.unlink(paths.index / name)
        report.rebuilt_index_files += 1
    return index


def open_index_file(
    disk: Disk, paths: StorePaths, name: str, slot_count: int, entry_count_max: int
) -> IndexFile | None:
    """Return a file, or None if its header cannot be decoded.

    Args:
        disk: the disk that holds the store.
        paths: the store's paths.
        name: the file's name.
        slot_count: number of slots.
        entry_count_max: most entries, including the unused entry 0.
    """
    try:
        return IndexFile(
            disk, paths.index / name, slot_count=slot_count, entry_count_max=entry_count_max
        )
    except RecordDamaged:
        return None


def is_usable(file: IndexFile, sealed_until_ms: int | None) -> bool:
    """Return whether a header can be right, and whether the file was synced when it was full.

    The last entry must be of the record that the header names, unless there are no entries.
    """
    in_order = (
        file.entry_count <= file.entry_count_max
        and 0 <= file.begin_log_offset <= file.end_log_offset
        and min(file.begin_ms, file.end_ms) >= 0
        and 0 <= file.used_slot_count < file.entry_count
        and (file.keys_at_end() > 0 if file.entry_count > 1 else file.is_blank())
    )
    return in_order and (
        sealed_until_ms is None or (file.is_full and file.end_ms <= sealed_until_ms)
    )


def index_geometry(
    disk: Disk, paths: StorePaths, config: StoreConfig, names: list[str]
) -> tuple[int, int]:
    """Return slot count and entry limit: the configured ones unless a full file has others.

    The numbers are not in the file. But if there is a second file, the first one is full, so
    its entry count is the limit.

    Args:
        disk: the disk that holds the store.
        paths: the store's paths.
        config: the store's settings.
        names: the names of the index files, sorted.
    """
    configured = config.max_hash_slot_num, config.max_index_num
    if len(names) < 2:
        return configured
    stat = disk.stat(paths.index / names[0])
    if stat is None or stat.size < HEADER.size or stat.size == index_file_size(*configured):
        return configured
    file = disk.open(paths.index / names[0])
    try:
        entry_count = HEADER.unpack(file.pread(HEADER.size, 0))[5]
    finally:
        file.close()
    slots_size = stat.size - HEADER.size - ENTRY.size * entry_count
    if entry_count < 2 or slots_size < SLOT.size or slots_size % SLOT.size:
        return configured
    return slots_size // SLOT.size, entry_count
