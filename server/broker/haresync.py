"""What a broker keeps about replication between two runs: ``ha.json`` in the store directory.

    {"partsAt": 4096}            this slave's log is not its master's from there on
    {"promoted": "ASYNC_MASTER"} it was made the master, whatever its configuration says

Rule: the file says what people have to know and decides nothing by itself. With slaveResync a
slave whose log parts cuts it there when it starts, before anything is read: what is cut was
never in the master's log. A promotion holds until the configuration says the same.

Source: ours.
"""

import dataclasses
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from server.broker.config import BrokerConfig, BrokerRole
from server.runtime.jsonfile import REAL_FILES, write_atomic
from storefmt.errors import ConfigDamaged
from storefmt.paths import StorePaths, parse_log_file_name

LOG = logging.getLogger(__name__)

FILE_NAME: Final = "ha.json"


@dataclass(frozen=True, slots=True)
class HaFile:
    """What the file of one store says."""

    path: Path
    parts_at: int | None = None
    promoted: BrokerRole | None = None

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
            return cls(path, found.get("partsAt"), role and BrokerRole[role])
        except (ValueError, KeyError, AttributeError) as error:
            raise ConfigDamaged(f"{path}: {error}; repair it or delete it") from error

    def saying(self, *, parts_at: int | None = None, promoted: BrokerRole | None = None) -> Self:
        """Write something else, durably; nothing at all removes the file.

        Raises:
            OSError: the disk refused.
        """
        if parts_at is None and promoted is None:
            if self.path.exists():
                self.path.unlink()
                REAL_FILES.sync_directory(self.path.parent)
        else:
            value = {
                **({} if parts_at is None else {"partsAt": parts_at}),
                **({} if promoted is None else {"promoted": promoted.name}),
            }
            # Without a copy: an older content would say what is no longer true.
            write_atomic(self.path, json.dumps(value), keeps_old=False)
        return dataclasses.replace(self, parts_at=parts_at, promoted=promoted)


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
    if file.parts_at is not None and config.is_slave and config.slave_resync:
        size = cut_log(StorePaths(root), file.parts_at)
        LOG.warning(
            "slaveResync: this log was cut at %d, %d bytes that its master does not have are gone",
            file.parts_at, size,
        )  # fmt: skip
        file = file.saying()
    return file


def cut_log(paths: StorePaths, log_offset: int) -> int:
    """Let the log of a store that nobody has open end; returns how many bytes of files went.

    The next start walks the log and makes queues and index agree.

    Raises:
        OSError: the disk refused.
    """
    # A start in order believes what is written down; this one has to look.
    paths.abort.touch()
    size = 0
    for path in sorted(paths.commitlog.iterdir(), reverse=True):
        base = parse_log_file_name(path.name)
        if base is None:
            continue
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
