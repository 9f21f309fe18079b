"""What a broker of a group keeps in its store directory.

    brokerIdentity        C#g#1                the id in the group, as Java writes it
    brokerIdentity-temp   C#g#1#10.0.0.1:…     while the id is being taken
    epochFileCheckpoint   under which masters the parts of the log were written, as Java writes it
    masterEpochHeard      3                    the highest master epoch heard of; only ours

Rule: each file is replaced whole and synced before anything rests on it. A damaged file is an
error, since a broker that forgot an epoch could lead by it again.

Source: broker/controller/ReplicasManager.java, store/ha/autoswitch/EpochFileCache.java (5.4.0).
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from mqserver.broker.config import BrokerConfig, BrokerRole
from mqserver.broker.replicas.role import Identity
from mqserver.runtime.jsonfile import REAL_FILES, load_state_file, write_atomic
from remoting.bodies.controller import EpochEntry, EpochEntryCache
from storefmt.config import broker_identity, master_epochs
from storefmt.config.broker_identity import BrokerIdentity
from storefmt.config.master_epochs import EpochStart
from storefmt.errors import ConfigDamaged

LOG = logging.getLogger(__name__)

HEARD_FILE: Final = "masterEpochHeard"


class GroupFiles:
    """The files of one store.

    Args:
        root: the store directory.
        cluster_name: the cluster of this broker.
        broker_name: its group.

    Raises:
        ConfigDamaged: a file cannot be read, or the identity is that of another broker.
        OSError: the disk refused.
    """

    def __init__(self, root: Path, *, cluster_name: str, broker_name: str) -> None:
        self._root = root
        self._cluster, self._name = cluster_name, broker_name
        root.mkdir(parents=True, exist_ok=True)
        self.identity = self._read_identity()
        self.epochs: list[EpochStart] = self._read_epochs()
        """The epochs of the log, the oldest first."""
        newest = self.epochs[-1].epoch if self.epochs else 0
        self.heard = max(self._read_heard(), newest)

    @classmethod
    def of(cls, config: BrokerConfig) -> "GroupFiles":
        """Return the files of a configured broker; raises what the constructor raises."""
        return cls(
            Path(config.store.store_path_root_dir),
            cluster_name=config.broker_cluster_name,
            broker_name=config.broker_name,
        )

    # The identity.

    def _read_identity(self) -> Identity:
        found = self._read_one(broker_identity.FILE_NAME)
        if found is not None:
            return Identity(found.broker_id)
        trial = self._read_one(broker_identity.TEMP_FILE_NAME)
        if trial is None or not trial.check_code:
            return Identity()
        return Identity(None, trial.broker_id, trial.check_code)

    def _read_one(self, name: str) -> BrokerIdentity | None:
        path = self._root / name
        if not path.exists():
            return None
        try:
            found = broker_identity.decode(path.read_bytes())
        except ConfigDamaged as error:
            raise ConfigDamaged(f"{path}: {error}") from error
        if (found.cluster_name, found.broker_name) != (self._cluster, self._name):
            raise ConfigDamaged(
                f"{path}: this store belongs to broker {found.broker_name!r} of cluster "
                f"{found.cluster_name!r}, and the configuration says {self._name!r} of "
                f"{self._cluster!r}"
            )
        return found

    def save_trial_id(self, broker_id: int, check_code: str) -> None:
        """Save the id that this broker is taking; raises OSError."""
        trial = BrokerIdentity(self._cluster, self._name, broker_id, check_code)
        self._write(broker_identity.TEMP_FILE_NAME, broker_identity.encode(trial))

    def save_id(self, broker_id: int) -> None:
        """Save the id that this broker has; raises OSError."""
        identity = BrokerIdentity(self._cluster, self._name, broker_id)
        self._write(broker_identity.FILE_NAME, broker_identity.encode(identity))
        self.identity = Identity(broker_id)
        (self._root / broker_identity.TEMP_FILE_NAME).unlink(missing_ok=True)
        REAL_FILES.sync_directory(self._root)

    def _write(self, name: str, text: str) -> None:
        write_atomic(self._root / name, text, keeps_old=False)

    # Epochs.

    def _read_heard(self) -> int:
        path = self._root / HEARD_FILE
        if not path.exists():
            return 0
        text = path.read_text(encoding="utf-8", errors="replace").strip()
        if not (text.isascii() and text.isdigit()) or int(text) > master_epochs.EPOCH_MAX:
            raise ConfigDamaged(
                f"{path}: {text[:40]!r}, expected an epoch; write the newest masterEpoch of "
                "`mqadmin controller status` into it"
            )
        return int(text)

    def save_heard(self, epoch: int) -> None:
        """Save the highest epoch heard of; raises OSError."""
        self._write(HEARD_FILE, str(epoch))
        self.heard = epoch

    def _read_epochs(self) -> list[EpochStart]:
        return load_state_file(self._root / master_epochs.FILE_NAME, master_epochs.decode) or []

    def save_epochs(self, epochs: Sequence[EpochStart]) -> None:
        """Save the epochs of the log; an empty list removes the file, as Java has none then.

        Raises:
            OSError: the disk refused.
        """
        path = self._root / master_epochs.FILE_NAME
        if epochs:
            self._write(path.name, master_epochs.encode(epochs))
        else:
            path.unlink(missing_ok=True)
        # An older list in ``.bak`` would no longer be true.
        path.with_name(f"{path.name}.bak").unlink(missing_ok=True)
        REAL_FILES.sync_directory(self._root)
        self.epochs = list(epochs)

    def begin_epoch(self, epoch: int, start_offset: int) -> None:
        """Note that an epoch begins at a log offset; raises OSError.

        An epoch that is known already changes nothing.
        """
        if EpochStart(epoch, start_offset) not in self.epochs:
            self.save_epochs(master_epochs.appended(self.epochs, epoch, start_offset))

    def log_ends_at(self, log_end: int) -> None:
        """Drop the epochs behind the end of the log, which was cut or lost; raises OSError."""
        kept = [entry for entry in self.epochs if entry.start_offset <= log_end]
        if kept != self.epochs:
            LOG.warning(
                "the log ends at %d: the epochs %s are gone with it", log_end,
                ", ".join(f"{epoch}-{start}" for epoch, start in self.epochs[len(kept) :]),
            )  # fmt: skip
            self.save_epochs(kept)


def begin_as_slave(config: BrokerConfig, identity: Identity) -> None:
    """Set the role with which every broker of a group starts."""
    config.broker_role = BrokerRole.SLAVE
    # Until the controller has given an id, nothing is registered by this number.
    config.broker_id = identity.broker_id or 1


def epoch_cache_of(
    config: BrokerConfig, epochs: Sequence[EpochStart], *, log_end: int
) -> EpochEntryCache:
    """Return the epochs of a log as tools ask for them (request code 1007)."""
    ends = [entry.start_offset for entry in epochs[1:]] + [master_epochs.OFFSET_MAX]
    return EpochEntryCache(
        cluster_name=config.broker_cluster_name,
        broker_name=config.broker_name,
        broker_id=config.broker_id,
        epoch_list=[
            EpochEntry(epoch=entry.epoch, start_offset=entry.start_offset, end_offset=end)
            for entry, end in zip(epochs, ends, strict=False)
        ],
        max_offset=log_end,
    )
