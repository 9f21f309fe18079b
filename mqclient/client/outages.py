"""Which failures of servers were logged: one line when an outage begins, and one when it ends.

    the first failure of a server     a warning
    further ones of the same kind     debug, and a warning every 5 minutes while they go on
    the server answers again          a warning that says how long it was away

Each queue, heartbeat and commit of a client notices an outage of its broker by itself, many times
a second in all. Kinds differ by the response code; a lost connection and no answer in time
are one kind.

Rule: this module reads no clock; its callers pass the time.
"""

import logging
from dataclasses import dataclass
from typing import Final

from mqclient.errors import ClientError

LOG = logging.getLogger(__name__)

AGAIN_MS: Final = 300_000
"""The pause between two warnings of one kind about one server, in ms."""


@dataclass(slots=True)
class _Outage:
    since_ms: int
    warned_ms: int
    count: int = 1


class Outages:
    """The failures of the servers of one client."""

    def __init__(self) -> None:
        self._outages: dict[tuple[str, int | None], _Outage] = {}

    def __bool__(self) -> bool:
        return bool(self._outages)

    def level(self, error: ClientError, *, now_ms: int) -> int:
        """Count a failure; return the level at which to log it.

        Args:
            error: names the server, and the response code where there is one.
            now_ms: the time, in ms since 1970.
        """
        kind = error.address, error.code
        outage = self._outages.get(kind)
        if outage is None:
            self._outages[kind] = _Outage(now_ms, now_ms)
            return logging.WARNING
        outage.count += 1
        if now_ms - outage.warned_ms < AGAIN_MS:
            return logging.DEBUG
        outage.warned_ms = now_ms
        return logging.WARNING

    def answered(self, address: str, *, served: bool, now_ms: int) -> None:
        """Log the end of an outage.

        Args:
            address: the server that answered, ``host:port``.
            served: True when it did what was asked, which also ends refusals.
            now_ms: the time, in ms since 1970.
        """
        for kind in [kind for kind in self._outages if kind[0] == address]:
            if kind[1] is not None and not served:
                continue
            outage = self._outages.pop(kind)
            LOG.warning(
                "%s %s again after %.1f s and %d failures",
                address,
                "answers" if kind[1] is None else "serves",
                (now_ms - outage.since_ms) / 1000,
                outage.count,
            )
