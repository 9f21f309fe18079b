"""What a broker keeps about replication between two runs: ``ha.json`` in the store directory.

    {"partsAt": 4096}            this slave's log is not its master's from there on
    {"promoted": "ASYNC_MASTER"} it was made the master, whatever its configuration says
    {"demoted": 2}               it was made a slave with this id, whatever its configuration says
    {"cutTail": true}            what its master's log does not have is to be cut

    tails/<20 digits>/commitlog/ the bytes that were cut at that log offset, a store for tools

Rule: the file says what people have to know or have ordered, and decides nothing by itself.
With ``cutTail`` or slaveResync a slave whose log parts cuts it there when it starts, before
anything is read, and only when a copy of what goes is on the disk. A promotion, or the
opposite, holds until the configuration says the same.

Source: ours.
"""

import dataclasses
import json
import logging
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from server.broker.config import BrokerConfig, BrokerRole
from server.runtime.jsonfile import REAL_FILES, write_atomic
from storefmt.errors import ConfigDamaged
from storefmt.paths import StorePaths, log_file_name, parse_log_file_name

LOG = logging.getLogger(__name__)

FILE_NAME: Final = "ha.json"
COPY_SIZE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class HaFile:
    """What the file of one store says."""

    path: Path
    parts_at: int | None = None
    promoted: BrokerRole | None = None
    demoted: int | None = None
    cut_tail: bool = False

    @classmethod
    def read(cls, root: Path) -> Self:
        """Return what the file in a store directory says; nothing when there is none.

        Raises:
            ConfigDamaged: it cannot be read.
        """
        path = root / FILE_NAME
        if not path.exists():
            return cls(path)
        try:
            found = json.loads(path.read_bytes())
            role = found.get("promoted")
            return cls(
                path,
                found.get("partsAt"),
                role and BrokerRole[role],
                found.get("demoted"),
                bool(found.get("cutTail")),
            )
        except (ValueError, KeyError, AttributeError) as error:
            raise ConfigDamaged(f"{path}: {error}; repair it or delete it") from error

    def saying(
        self,
        *,
        parts_at: int | None = None,
        promoted: BrokerRole | None = None,
        demoted: int | None = None,
        cut_tail: bool = False,
    ) -> Self:
        """Write something else, durably; nothing at all removes the file.

        Raises:
            OSError: the disk refused.
        """
        value = {
            **({} if parts_at is None else {"partsAt": parts_at}),
            **({} if promoted is None else {"promoted": promoted.name}),
            **({} if demoted is None else {"demoted": demoted}),
            **({"cutTail": True} if cut_tail else {}),
        }
        if value:
            # Without a copy: an older content would say what is no longer true.
            write_atomic(self.path, json.dumps(value), keeps_old=False)
        elif self.path.exists():
            self.path.unlink()
            REAL_FILES.sync_directory(self.path.parent)
        return dataclasses.replace(
            self, parts_at=parts_at, promoted=promoted, demoted=demoted, cut_tail=cut_tail
        )


def before_start(config: BrokerConfig) -> HaFile:
    """Act on the file of a broker whose store is not open yet.

    Raises:
        ConfigDamaged: it cannot be read.
        OSError: the disk refused.
    """
    root = Path(config.store.store_path_root_dir)
    file = HaFile.read(root)
    if file.promoted is not None:
        if config.is_slave:
            LOG.warning(
                "this broker was promoted to %s and starts as that; set brokerRole and brokerId=0 "
                "in its configuration, or delete %s to let it be a slave again",
                file.promoted.name, file.path,
            )  # fmt: skip
            config.broker_role, config.broker_id = file.promoted, 0
        else:
            file = file.saying()
    if (demoted := file.demoted) is not None:
        if config.is_slave:
            file = file.saying(parts_at=file.parts_at, cut_tail=file.cut_tail)
        else:
            LOG.warning(
                "this broker was demoted and starts as slave %d; set brokerRole=SLAVE and "
                "brokerId=%d in its configuration, or delete %s to let it be a master again",
                demoted, demoted, file.path,
            )  # fmt: skip
            config.broker_role, config.broker_id = BrokerRole.SLAVE, demoted
    if file.parts_at is not None and config.is_slave and (file.cut_tail or config.slave_resync):
        paths = StorePaths(root)
        copy = copy_tail(paths, file.parts_at)
        cut_log(paths, file.parts_at)
        LOG.warning(
            "this log was cut at %d; what its master does not have of it is in %s, where "
            "`mqadmin store log` reads it", file.parts_at, copy,
        )  # fmt: skip
        file = file.saying(demoted=file.demoted)
    return file


def copy_tail(paths: StorePaths, log_offset: int) -> Path:
    """Copy the log of a store that nobody has open, from ``log_offset`` on, durably.

    Returns:
        A directory like that of a store, of which only the commit log is there.

    Raises:
        OSError: the disk refused; the log is as it was.
    """
    first = target = paths.root / "tails" / log_file_name(log_offset)
    number = 1
    while target.exists():
        # What was cut before at the same place is kept, too.
        number += 1
        target = first.with_name(f"{first.name}-{number}")
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    log = StorePaths(partial).commitlog
    log.mkdir(parents=True)
    for base, path in _log_files(paths):
        skip = max(0, log_offset - base)
        if skip < path.stat().st_size:
            _copy(path, log / log_file_name(base + skip), skip=skip)
    for directory in (log, partial):
        REAL_FILES.sync_directory(directory)
    partial.rename(target)
    for directory in (target.parent, paths.root):
        REAL_FILES.sync_directory(directory)
    return target


def _copy(source: Path, target: Path, *, skip: int) -> None:
    """Copy a file without its first ``skip`` bytes; zeros take no space."""
    with source.open("rb") as old, target.open("wb") as new:
        old.seek(skip)
        while data := old.read(COPY_SIZE):
            if data.count(0) == len(data):
                new.seek(len(data), os.SEEK_CUR)
            else:
                new.write(data)
        new.truncate(old.tell() - skip)
        new.flush()
        os.fsync(new.fileno())


def _log_files(paths: StorePaths) -> list[tuple[int, Path]]:
    """Return where each file of the log begins, and its path, the first file first."""
    found = ((parse_log_file_name(path.name), path) for path in paths.commitlog.iterdir())
    return sorted((base, path) for base, path in found if base is not None)


def cut_log(paths: StorePaths, log_offset: int) -> int:
    """Let the log of a store that nobody has open end; returns how many bytes of files went.

    The next start walks the log and makes queues and index agree.

    Raises:
        OSError: the disk refused.
    """
    # A start in order believes what is written down; this one has to look.
    paths.abort.touch()
    size = 0
    for base, path in reversed(_log_files(paths)):
        length = path.stat().st_size
        if base >= log_offset:
            path.unlink()
            size += length
        elif base + length > log_offset:
            with path.open("r+b") as file:
                file.truncate(log_offset - base)
                file.truncate(length)
            size += base + length - log_offset
    return size
