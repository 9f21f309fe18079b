"""Which of two masters of one name may take messages: ``epoch.json`` and a table.

    {"epoch": 1795368000000,      the promotion whose log this store follows, 0 for none
     "heard": 1795368000000,      the newest promotion that this broker has heard of
     "masterRole": "SYNC_MASTER", what its master was configured to be; kept by a promotion
     "formerMaster": "10.0.0.1:10911"}    whom this broker replaced

An epoch says when a promotion was ordered, in ms since 1970, and is always higher than every
epoch that was known where it was ordered. So two promotions that know nothing of each other
have different epochs, and the later order wins.

    FOLLOWS ──promoted──> LEADS ──a higher epoch is heard of──> FENCED
       ^                    ^ nobody has a higher one              │
       │                 ASKING (a master that starts)             │
       └──────────────────────── demoted ──────────────────────────┘

Rule: a master whose epoch is lower than one that it hears of for its broker name takes no
messages. Only an order of a person ends that.

Source: ours. The word is that of 5.x (AutoSwitchHAService), where a controller gives epochs.
"""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Final, Self

from server.runtime.jsonfile import load_state_file, write_atomic
from storefmt.errors import BadCall, ConfigDamaged

FILE_NAME: Final = "epoch.json"


class Standing(Enum):
    """What a broker may do because of the epochs that it knows."""

    FOLLOWS = auto()
    """It is a slave."""
    ASKING = auto()
    """It is a master that has just started and asks whether there is a newer one."""
    LEADS = auto()
    """It is a master, and nobody has told a higher epoch."""
    FENCED = auto()
    """It is a master, and another one was promoted."""


class Event(Enum):
    """What changes a standing."""

    ASKED = auto()
    """Everybody who was asked has answered, or has not in time."""
    HIGHER = auto()
    """Somebody told an epoch that is higher than its own."""
    PROMOTED = auto()
    DEMOTED = auto()


START: Final[Mapping[tuple[bool, bool], Standing]] = {
    # (it is configured as a master, it has heard of a higher epoch than its own)
    (False, False): Standing.FOLLOWS,
    (False, True): Standing.FOLLOWS,
    (True, False): Standing.ASKING,
    (True, True): Standing.FENCED,
}
"""The standing of a broker that starts."""

_S, _E = Standing, Event
NEXT: Final[Mapping[tuple[Standing, Event], Standing]] = {
    (_S.FOLLOWS, _E.HIGHER): _S.FOLLOWS,  # its own promotion will be higher still
    (_S.FOLLOWS, _E.PROMOTED): _S.LEADS,
    (_S.ASKING, _E.ASKED): _S.LEADS,
    (_S.ASKING, _E.HIGHER): _S.FENCED,
    (_S.LEADS, _E.HIGHER): _S.FENCED,
    (_S.LEADS, _E.DEMOTED): _S.FOLLOWS,  # only when the order insists
    (_S.FENCED, _E.ASKED): _S.FENCED,
    (_S.FENCED, _E.HIGHER): _S.FENCED,
    (_S.FENCED, _E.PROMOTED): _S.LEADS,  # only when the order insists
    (_S.FENCED, _E.DEMOTED): _S.FOLLOWS,
}


def step(standing: Standing, event: Event) -> Standing:
    """Return the standing after an event.

    Raises:
        BadCall: this cannot happen to a broker of that standing.
    """
    try:
        return NEXT[standing, event]
    except KeyError:
        text = f"a broker that is {standing.name} cannot take {event.name}"
        raise BadCall(text) from None


@dataclass(frozen=True, slots=True)
class EpochFile:
    """What ``epoch.json`` of one store says; nothing while there is no file."""

    path: Path
    epoch: int = 0
    heard: int = 0
    master_role: str = ""
    former_master: str = ""

    @classmethod
    def read(cls, root: Path) -> Self:
        """Return what the file in a store directory says.

        Raises:
            ConfigDamaged: neither it nor its ``.bak`` can be read.
        """
        path = root / FILE_NAME
        return load_state_file(path, lambda data: cls._decode(path, data)) or cls(path)

    @classmethod
    def _decode(cls, path: Path, data: bytes) -> Self:
        try:
            found = json.loads(data)
            epoch, heard = int(found["epoch"]), int(found["heard"])
            role, former = found.get("masterRole", ""), found.get("formerMaster", "")
            return cls(path, epoch, heard, str(role), str(former))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            text = f"{path}: {error!r}; repair it, or delete it to know of no promotion"
            raise ConfigDamaged(text) from error

    @property
    def is_outranked(self) -> bool:
        """Tell whether a higher epoch than its own was heard of."""
        return self.heard > self.epoch

    def next_epoch(self, now_ms: int) -> int:
        """Return the epoch of a promotion that is ordered now."""
        return max(self.epoch + 1, self.heard + 1, now_ms)

    def saying(
        self,
        *,
        epoch: int | None = None,
        heard: int | None = None,
        master_role: str | None = None,
        former_master: str | None = None,
    ) -> Self:
        """Return this with something else, durably written where it differs.

        Raises:
            OSError: the disk refused; the file says what it said before.
        """
        changed = dataclasses.replace(
            self,
            epoch=self.epoch if epoch is None else epoch,
            heard=max(self.heard, heard or 0, epoch or 0),
            master_role=self.master_role if master_role is None else master_role,
            former_master=self.former_master if former_master is None else former_master,
        )
        if changed != self:
            value = {
                "epoch": changed.epoch,
                "heard": changed.heard,
                "masterRole": changed.master_role,
                "formerMaster": changed.former_master,
            }
            write_atomic(changed.path, json.dumps(value))
        return changed
