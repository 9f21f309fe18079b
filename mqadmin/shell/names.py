"""Live names for completion: topics, groups, brokers, clusters.

    a key press --> the names known now (never waits)
                \\-> when older than 10 s: a task in the loop thread asks the servers
                    (1 s while no broker is known)

Rule: completion is a convenience. If a server is away, the names stay as they were, and the prompt
says so. Commands never read these names.
"""

import asyncio
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mqadmin.cli.types import ValueKind
from mqadmin.cluster.bounded_gather import bounded_gather
from mqadmin.cluster.brokers import ServerNode, all_brokers
from mqadmin.errors import CommandError
from mqadmin.output.topic_kinds import kind_of
from mqadmin.session.call import Call
from mqadmin.session.contexts import ContextFile
from mqclient.errors import ClientError

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

FRESH_S = 10.0
AWAY_S = 1.0
"""How soon a server that did not answer, or knew no broker, is asked again."""
CLIENT_GROUPS_MAX = 200
"""How many groups' members are fetched; each group costs a request."""


@dataclass(frozen=True, slots=True)
class Names:
    """The known names by kind, and whether a server answered."""

    by_kind: dict[ValueKind, list[str]] = field(default_factory=dict)
    cluster: str | None = None
    connected: bool = False

    def of(self, kind: ValueKind) -> list[str]:
        """Return the names of this kind, sorted."""
        return self.by_kind.get(kind, [])


class LiveNames:
    """Keeps ``Names`` fresh in the background."""

    def __init__(self) -> None:
        self.known = Names()
        self._asked_s = float("-inf")
        self._task: Future[None] | None = None

    def refresh(self, call: Call, *, at_once: bool = False) -> "Future[None] | None":
        """Start to fetch names unless they are fresh or being fetched."""
        if self._task is not None and not self._task.done():
            return self._task
        fresh_s = AWAY_S if self.known.cluster is None else FRESH_S
        if not at_once and time.monotonic() - self._asked_s < fresh_s:
            return self._task
        self._asked_s = time.monotonic()
        self._task = call.workplace.link.submit(self._fetch(call))
        return self._task

    async def _fetch(self, call: Call) -> None:
        try:
            self.known = await fetch(call)
        except Exception:
            # The next command will report the error; here it only means "no names".
            self.known = Names({**self.known.by_kind, **_contexts(call)}, None, False)


async def fetch(call: Call) -> Names:
    """Ask the servers of ``call`` for all names.

    Raises:
        CommandError, ClientError: no server is known, or none answers.
    """
    admin = await call.admin()
    brokers = await all_brokers(admin)
    topics = await admin.topic_list()
    masters = [place for place in brokers if place.broker_id == 0]
    tables = await asyncio.gather(
        *(admin.subscription_groups(place.address) for place in masters), return_exceptions=True
    )
    groups: set[str] = set()
    for table in tables:
        if not isinstance(table, BaseException):
            groups.update(table.groups)
    asked = [(place, group) for place in masters for group in sorted(groups)[:CLIENT_GROUPS_MAX]]
    clients: set[str] = set()
    async for members in bounded_gather(asked, lambda pair: _members(admin, pair)):
        clients.update(members)
    clusters = sorted({place.cluster for place in brokers})
    own = {*clusters, *(place.broker for place in brokers)}
    names = {
        ValueKind.TOPIC: sorted(topics, key=lambda topic: (_rank(topic, own), topic)),
        ValueKind.GROUP: sorted(groups),
        ValueKind.BROKER: sorted({place.broker for place in brokers}),
        ValueKind.CLUSTER: clusters,
        ValueKind.CLIENT: sorted(clients),
        ValueKind.QUEUE: sorted({place.broker for place in masters}),
        ValueKind.ADDRESS: sorted({place.address for place in brokers}),
    }
    return Names({**names, **_contexts(call)}, clusters[0] if clusters else None, True)


async def _members(admin: "Admin", pair: tuple[ServerNode, str]) -> list[str]:
    try:
        return await admin.consumer_ids(pair[0].address, pair[1])
    except ClientError:
        # If a broker does not answer, only its members are missing.
        return []


def _rank(topic: str, own: set[str]) -> int:
    """Return 0 for topics that users made, which come first."""
    return 0 if kind_of(topic, brokers_and_clusters=own) == "normal" else 1


def _contexts(call: Call) -> dict[ValueKind, list[str]]:
    try:
        return {ValueKind.CONTEXT: sorted(ContextFile.of(call.console.env).load().contexts)}
    except CommandError:
        return {}
