"""Epochs decide which of two masters of one broker name accepts messages.

``storefmt.config.epochs`` describes ``epoch.json``, the file that keeps them.

An epoch is the time at which a promotion was ordered, in ms since 1970, or higher: it exceeds
every epoch that the promoted broker knew. So two promotions that do not know of each other have
different epochs (unless ordered in the same ms), and the later one wins.

    FOLLOWS ──promoted──> LEADS ──hears of a higher epoch──> FENCED
       ^                    ^ no broker has a higher one        │
       │                 ASKING (a master that starts)          │
       └──────────────────────── demoted ───────────────────────┘

Rule: a master that hears of a higher epoch than its own for its broker name accepts no messages
until an administrator promotes or demotes it.

Source: none, RocketMQ 4.9 has no epochs. The term is that of 5.x (AutoSwitchHAService), where a
controller assigns epochs.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Final, Self

from mqserver.runtime.jsonfile import load_state_file, write_atomic
from storefmt.config.epochs import EPOCH_MAX, FILE_NAME, Epochs, decode, encode
from storefmt.errors import BadCall, ConfigDamaged


class EpochsExhausted(OSError):
    """No promotion can get a higher epoch than the one that this broker knows."""


class Standing(Enum):
    """What a broker may do because of the epochs that it knows."""

    FOLLOWS = auto()
    """It is a slave."""
    ASKING = auto()
    """It is a master that has just started and asks other brokers for a higher epoch."""
    LEADS = auto()
    """It is a master and has not heard of a higher epoch."""
    FENCED = auto()
    """It is a master, but another broker was promoted after it."""


class EpochEvent(Enum):
    """What changes a standing."""

    ASKED = auto()
    """Every broker that was asked has answered, or its time is over."""
    HIGHER = auto()
    """It heard of an epoch that is higher than its own."""
    PROMOTED = auto()
    DEMOTED = auto()


START: Final[Mapping[tuple[bool, bool], Standing]] = {
    # (it is configured as a master, it has heard of a higher epoch than its own)
    (False, False): Standing.FOLLOWS,
    (False, True): Standing.FOLLOWS,
    (True, False): Standing.ASKING,
    (True, True): Standing.FENCED,
}
"""The standing of a broker when it starts."""

_S, _E = Standing, EpochEvent
NEXT: Final[Mapping[tuple[Standing, EpochEvent], Standing]] = {
    (_S.FOLLOWS, _E.HIGHER): _S.FOLLOWS,  # its own promotion will get a still higher epoch
    (_S.FOLLOWS, _E.PROMOTED): _S.LEADS,
    (_S.ASKING, _E.ASKED): _S.LEADS,
    (_S.ASKING, _E.HIGHER): _S.FENCED,
    (_S.LEADS, _E.HIGHER): _S.FENCED,
    (_S.LEADS, _E.DEMOTED): _S.FOLLOWS,  # only with --force
    (_S.FENCED, _E.ASKED): _S.FENCED,
    (_S.FENCED, _E.HIGHER): _S.FENCED,
    (_S.FENCED, _E.PROMOTED): _S.LEADS,  # only with --force
    (_S.FENCED, _E.DEMOTED): _S.FOLLOWS,
}


def step(standing: Standing, event: EpochEvent) -> Standing:
    """Return the standing after an event.

    Raises:
        BadCall: the event cannot happen in this standing.
    """
    try:
        return NEXT[standing, event]
    except KeyError:
        text = f"a broker that is {standing.name} cannot take {event.name}"
        raise BadCall(text) from None


@dataclass(frozen=True, slots=True)
class EpochFile:
    """The epochs of one store and their file; the defaults while there is no file."""

    path: Path
    epoch: int = 0
    heard: int = 0
    master_role: str = ""
    former_master: str = ""

    @classmethod
    def read(cls, root: Path) -> Self:
        """Return the content of the file in a store directory.

        Raises:
            ConfigDamaged: neither the file nor its ``.bak`` can be read.
        """
        path = root / FILE_NAME
        return load_state_file(path, lambda data: cls._decode(path, data)) or cls(path)

    @classmethod
    def _decode(cls, path: Path, data: bytes) -> Self:
        try:
            return cls(path, *decode(data))
        except ConfigDamaged as error:
            text = f"{path}: {error}; `mqadmin store epoch {path.parent} --mend` repairs it"
            raise ConfigDamaged(text) from error

    @property
    def is_outranked(self) -> bool:
        """Return whether the broker has heard of a higher epoch than its own."""
        return self.heard > self.epoch

    def next_epoch(self, now_ms: int) -> int:
        """Return the epoch of a promotion that is ordered now.

        Raises:
            EpochsExhausted: the file has the highest epoch that there is.
        """
        epoch = max(self.epoch + 1, self.heard + 1, now_ms)
        if epoch > EPOCH_MAX:
            raise EpochsExhausted(
                f"{self.path} has epoch {max(self.epoch, self.heard)}, the highest that there is; "
                f"stop this broker and run `mqadmin store epoch {self.path.parent} --mend --epoch "
                f"{now_ms}`"
            )
        return epoch

    def replace(
        self,
        *,
        epoch: int | None = None,
        heard: int | None = None,
        master_role: str | None = None,
        former_master: str | None = None,
    ) -> Self:
        """Return a copy with changed values; it is written durably if it differs.

        Args:
            epoch: new epoch in ms; None keeps the old one, for this and every other argument.
            heard: an epoch that was heard of; the highest one is kept.
            master_role: name of a broker role.
            former_master: ``host:port``.

        Raises:
            OSError: the file cannot be written; its content is the same as before.
        """
        changed = dataclasses.replace(
            self,
            epoch=self.epoch if epoch is None else epoch,
            heard=max(self.heard, heard or 0, epoch or 0),
            master_role=self.master_role if master_role is None else master_role,
            former_master=self.former_master if former_master is None else former_master,
        )
        if changed != self:
            values = Epochs(
                changed.epoch, changed.heard, changed.master_role, changed.former_master
            )
            write_atomic(changed.path, encode(values))
        return changed
