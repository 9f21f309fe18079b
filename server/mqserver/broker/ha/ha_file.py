"""The state of replication that is kept between two runs: ``ha.json`` in the store directory.

    {"partsAt": 4096}            log offset at which this slave's log diverges from its master's
    {"promoted": "ASYNC_MASTER"} it was promoted to this role, whatever its configuration says
    {"demoted": 2}               it was made a slave with this id, whatever its configuration says
    {"cutTail": true}            the bytes that its master's log does not have are to be cut

    tails/<20 digits>/commitlog/ the bytes that were cut at that log offset, readable with tools

Rule: the file holds what was found or ordered. With ``cutTail`` or slaveResync, a slave whose log
diverges cuts it there when it starts, before anything is read, and only after a copy of the bytes
is on the disk. A promotion or demotion holds until the configuration says the same.

Source: none, RocketMQ has no such file.
"""

import dataclasses
import json
import logging
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from mqserver.broker.config import BrokerConfig, BrokerRole
from mqserver.runtime.jsonfile import REAL_FILES, write_atomic
from storefmt.config.foreign_json import read_json
from storefmt.errors import ConfigDamaged
from storefmt.paths import StorePaths, log_file_name, parse_log_file_name

LOG = logging.getLogger(__name__)

FILE_NAME: Final = "ha.json"
COPY_SIZE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class HaFile:
    """The content of the file of one store."""

    path: Path
    parts_at: int | None = None
    promoted: BrokerRole | None = None
    demoted: int | None = None
    cut_tail: bool = False
    is_cut: bool = False
    """Whether this start has cut the log, which the file says until the store is open again."""

    @classmethod
    def read(cls, root: Path) -> Self:
        """Return the content of the file in a store directory; the defaults if there is none.

        Raises:
            ConfigDamaged: the file cannot be read.
        """
        path = root / FILE_NAME
        if not path.exists():
            return cls(path)
        try:
            fields = read_json(path.read_bytes())
            role = fields.get("promoted")
            return cls(
                path,
                fields.get("partsAt"),
                role and BrokerRole[role],
                fields.get("demoted"),
                bool(fields.get("cutTail")),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigDamaged(f"{path}: {error}; repair it or delete it") from error

    def replace(
        self,
        *,
        parts_at: int | None = None,
        promoted: BrokerRole | None = None,
        demoted: int | None = None,
        cut_tail: bool = False,
    ) -> Self:
        """Replace the content durably and return it; without any value the file is removed.

        Args:
            parts_at: log offset at which the log diverges from the master's; None for nowhere.
            promoted: role of a promotion; None for none.
            demoted: broker id of a demotion; None for none.
            cut_tail: whether the next start cuts the log at ``parts_at``.

        Raises:
            OSError: the file cannot be written.
        """
        value = {
            **({} if parts_at is None else {"partsAt": parts_at}),
            **({} if promoted is None else {"promoted": promoted.name}),
            **({} if demoted is None else {"demoted": demoted}),
            **({"cutTail": True} if cut_tail else {}),
        }
        if value:
            # No ``.bak`` is kept, because the older content would no longer be true.
            write_atomic(self.path, json.dumps(value), keeps_old=False)
        elif self.path.exists():
            self.path.unlink()
            REAL_FILES.sync_directory(self.path.parent)
        return dataclasses.replace(
            self,
            parts_at=parts_at,
            promoted=promoted,
            demoted=demoted,
            cut_tail=cut_tail,
            is_cut=False,
        )

    def store_opened(self) -> Self:
        """Record that the store is open, so that a cut log is not cut again; return the content.

        Raises:
            OSError: the file cannot be written.
        """
        return self.replace(demoted=self.demoted) if self.is_cut else self


def before_start(config: BrokerConfig) -> HaFile:
    """Apply the file before the store is opened: set the role, and cut the log if ordered.

    Raises:
        ConfigDamaged: the file cannot be read.
        OSError: the log cannot be copied or cut, or the file cannot be written.
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
            file = file.replace()
    if (demoted := file.demoted) is not None:
        if config.is_slave:
            file = file.replace(parts_at=file.parts_at, cut_tail=file.cut_tail)
        else:
            LOG.warning(
                "this broker was demoted and starts as slave %d; set brokerRole=SLAVE and "
                "brokerId=%d in its configuration, or delete %s to let it be a master again",
                demoted, demoted, file.path,
            )  # fmt: skip
            config.broker_role, config.broker_id = BrokerRole.SLAVE, demoted
    return cut_if_ordered(config, file)


def before_start_in_group(config: BrokerConfig) -> HaFile:
    """Apply the file as ``before_start`` does, for a broker of a group with a controller.

    Promotions and demotions from before the group are forgotten: they would otherwise decide the
    role again when the broker leaves the group.

    Raises:
        ConfigDamaged: the file cannot be read.
        OSError: the log cannot be copied or cut, or the file cannot be written.
    """
    file = HaFile.read(Path(config.store.store_path_root_dir))
    if file.promoted is not None or file.demoted is not None:
        LOG.info("the controller decides the role now; forgot the order in %s", file.path)
        file = file.replace(parts_at=file.parts_at, cut_tail=file.cut_tail)
    return cut_if_ordered(config, file)


def cut_if_ordered(config: BrokerConfig, file: HaFile) -> HaFile:
    """Cut the log of a slave where the file says that it diverges, after a copy of the tail.

    Raises:
        OSError: the log cannot be copied or cut, or the file cannot be written.
    """
    root = Path(config.store.store_path_root_dir)
    if file.parts_at is not None and config.is_slave and (file.cut_tail or config.slave_resync):
        paths = StorePaths(root)
        copy = copy_tail(paths, file.parts_at)
        cut_log(paths, file.parts_at)
        LOG.warning(
            "cut this log at %d; the bytes that its master does not have are in %s, where "
            "`mqadmin store log` reads them", file.parts_at, copy,
        )  # fmt: skip
        file = dataclasses.replace(file, parts_at=None, cut_tail=False, is_cut=True)
    return file


def copy_tail(paths: StorePaths, log_offset: int) -> Path:
    """Copy the log from ``log_offset`` on, durably; the store must not be open.

    Returns:
        A directory laid out like a store's, with a commit log only.

    Raises:
        OSError: the copy cannot be written; the log is unchanged.
    """
    first = target = paths.root / "tails" / log_file_name(log_offset)
    number = 1
    while target.exists():
        # Keep what was cut before at the same log offset.
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
    """Copy a file without its first ``skip`` bytes; blocks of zeros become holes."""
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
    """Return the first log offset and the path of each file of the log, in order."""
    bases = ((parse_log_file_name(path.name), path) for path in paths.commitlog.iterdir())
    return sorted((base, path) for base, path in bases if base is not None)


def cut_log(paths: StorePaths, log_offset: int) -> int:
    """Cut the log at ``log_offset`` and return how many bytes of files were removed or zeroed.

    The store must not be open. The next start scans the log and makes queues and index agree.

    Raises:
        OSError: a file cannot be changed.
    """
    # The abort file makes the next start scan the log as after a crash.
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
