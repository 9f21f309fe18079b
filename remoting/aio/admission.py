"""Decides which connections a server accepts, by their number in total and per address.

    may the address connect? ── no ──────────────> OUT     closed at once
    is a file descriptor free? ── no ────────────> OUT
    are there too many connections? ── no ───────> IN
                                    └─ yes ──────> BUSY    answers one request, closes
                                       and CROWD_MAX of them wait for that ──> OUT

Rule: connections that only wait to be answered SYSTEM_BUSY are counted separately, so that they
take no places of others.

Source: ours; Java accepts connections until the process has no file descriptors left.
"""

import logging
from collections import Counter
from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from remoting.aio.resources import Places

LOG = logging.getLogger(__name__)

CROWD_MAX: Final = 64
"""The most connections beyond the limits that wait for their SYSTEM_BUSY."""


class AdmissionResult(Enum):
    """What becomes of a new connection."""

    IN = auto()
    BUSY = auto()
    OUT = auto()


class Admission:
    """Counts the connections of one server.

    Args:
        connections_max: connections beyond this number are answered with SYSTEM_BUSY.
        per_address_max: the same for the connections of one address; 0 for no such limit.
        may_connect: returns whether an address may connect; without it everybody may.
        places: the descriptors that this server shares with others.
    """

    def __init__(
        self,
        *,
        connections_max: int,
        per_address_max: int = 0,
        may_connect: Callable[[str], bool] | None = None,
        places: Places | None = None,
    ) -> None:
        self._connections_max = connections_max
        self._per_address_max = per_address_max
        self._may_connect = may_connect
        self._places = places or Places()
        self._counts: Counter[str] = Counter()
        self._crowd = 0
        self._has_warned = False

    def enter(self, ip: str) -> AdmissionResult:
        """Return the verdict on a new connection, and count it unless that is ``OUT``."""
        if self._may_connect is not None and not self._may_connect(ip):
            LOG.info("%s is not let in, its connection is closed", ip)
            return AdmissionResult.OUT
        if not self._places.reserve():
            self._warn_once("%d connections use all file descriptors", self._places.count)
            return AdmissionResult.OUT
        if not self._is_full(ip):
            self._has_warned = False
            self._counts[ip] += 1
            return AdmissionResult.IN
        if self._crowd >= CROWD_MAX:
            self._places.give_back()
            return AdmissionResult.OUT
        self._crowd += 1
        return AdmissionResult.BUSY

    def leave(self, ip: str, verdict: AdmissionResult) -> None:
        """Stop counting a connection to which ``enter`` gave ``verdict``."""
        self._places.give_back()
        if verdict is AdmissionResult.BUSY:
            self._crowd -= 1
        elif self._counts[ip] > 1:
            self._counts[ip] -= 1
        else:
            del self._counts[ip]

    def _is_full(self, ip: str) -> bool:
        total = self._counts.total()
        is_crowding = self._per_address_max > 0 and self._counts[ip] >= self._per_address_max
        if total < self._connections_max and not is_crowding:
            return False
        self._warn_once(
            "too many connections (%d), or too many of %s: new ones are answered with SYSTEM_BUSY",
            total,
            ip,
        )
        return True

    def _warn_once(self, text: str, *values: object) -> None:
        if not self._has_warned:
            self._has_warned = True
            LOG.warning(text, *values)
