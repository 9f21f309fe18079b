"""Find out who reads which queue of a topic now, for ``rebalance show`` and ``plan``.

    every member reports its queues            -> owners
    its strategy assigns queues to members     -> given
    its properties name its strategy           -> strategy
    a member that does not answer            -> what the strategy would give it, assumed

Rule: a member's own report takes precedence; a computed assignment is called assumed, so that
it is not mistaken for a report.
"""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mqadmin.cluster.brokers import masters_of_route
from mqadmin.cluster.groups import find_group
from mqadmin.cluster.members import MemberAnswer, MemberSurvey, infos_of, owners_of
from mqadmin.cluster.partial_answers import Answers, ask_each
from mqadmin.errors import ItemNotFound
from mqadmin.output.rows import Row
from mqclient.client import routes
from mqclient.consumer.consumer_settings import Strategy
from mqclient.consumer.rebalance.allocate import plan
from remoting.bodies import ConsumerRunningInfo, MessageQueue
from storefmt.names import RETRY_PREFIX

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

STRATEGY_PROPERTY: Final = "allocateMessageQueueStrategy"
OUR_STRATEGY_PROPERTY: Final = "allocateStrategy"
ORDERLY_PROPERTY: Final = "PROP_CONSUMEORDERLY"
CLASS_NAME: Final = re.compile(r"AllocateMessageQueue(\w+)|AllocateMachineRoomNearby")
STRATEGY_OF_CLASS: Final = {
    "Averagely": Strategy.AVG,
    "AveragelyByCircle": Strategy.AVG_BY_CIRCLE,
    "ByConfig": Strategy.CONFIG,
    "ByMachineRoom": Strategy.MACHINE_ROOM,
    "ConsistentHash": Strategy.CONSISTENT_HASH,
    None: Strategy.MACHINE_ROOM_NEARBY,
}
NEED_MORE: Final = frozenset({Strategy.CONFIG, Strategy.MACHINE_ROOM})
"""Strategies that depend on settings which only the members know."""
ASSUMED: Final = " (assumed)"


@dataclass(frozen=True, slots=True)
class QueueOwner(Row):
    """Who reads one queue; ``assumed`` if the member did not report it itself."""

    group: str
    topic: str
    broker: str
    queue_id: int
    client_id: str | None
    strategy: str
    assumed: bool = False


@dataclass(frozen=True, slots=True)
class PlannedOwner(QueueOwner):
    """Who would read one queue, and who reads it now."""

    was: str | None = None
    moves: bool = False


@dataclass(frozen=True, slots=True)
class GroupAssignment:
    """The queues of a topic, the members of a group, and their assignment.

    Attributes:
        given: the queues that the strategy assigns; an orderly member reads a queue only once it
            has locked it.
        orderly: a member reports that it consumes in order.
        answers: the answer of each member, including those that did not answer.
    """

    queues: list[MessageQueue]
    members: list[str]
    owners: dict[MessageQueue, str]
    strategy: Strategy
    assumed: bool
    given: dict[MessageQueue, str] = field(default_factory=dict)
    orderly: bool = False
    answers: dict[str, MemberAnswer] = field(default_factory=dict)

    @property
    def strategy_text(self) -> str:
        """Return the strategy, marked if no member reported it."""
        return str(self.strategy) + (ASSUMED if self.assumed else "")

    @property
    def unheard(self) -> dict[str, str]:
        """Return why members did not answer, by client id."""
        return {who: answer.remark for who, answer in self.answers.items() if answer.info is None}

    def is_assumed(self, queue: MessageQueue) -> bool:
        """Return whether the owner of a queue is only computed."""
        owner = self.owners.get(queue)
        return owner is not None and owner in self.unheard

    def strategy_of(self, queue: MessageQueue) -> str:
        """Return the strategy that assigned a queue, marked if that is only assumed."""
        is_assumed = self.assumed or self.is_assumed(queue)
        return str(self.strategy) + (ASSUMED if is_assumed else "")


async def find_assignment(
    admin: "Admin",
    group: str,
    topic: str,
    *,
    asked: MemberSurvey,
    is_known: bool = True,
    answers: Answers | None = None,
) -> GroupAssignment:
    """Return who reads which queue now.

    Args:
        asked: asks the members, each once in a command.
        is_known: whether a group that no broker knows is an error.
        answers: skips brokers that do not answer; without it, that is an error.

    Raises:
        NoRoute: the topic does not exist.
        ItemNotFound: no broker knows the group.
    """
    route = await admin.topic_route(topic)
    queues = routes.subscribe_queues(topic, route)
    listed = await ask_each(
        masters_of_route(route),
        lambda node: admin.consumer_ids(node.address, group),
        answers=answers,
    )
    address_of = {member: node.address for node, ids in listed for member in ids}
    members = sorted(address_of)
    if not members:
        if is_known:
            await find_group(admin, group, answers=answers)
        return GroupAssignment(queues, [], {}, Strategy.AVG, True)
    said = await asked.survey(group, address_of)
    infos = infos_of(said)
    strategies = {
        declared for info in infos.values() if (declared := _strategy_of(info)) is not None
    }
    strategy = strategies.pop() if len(strategies) == 1 else None
    owners = {queue: who for queue, who in owners_of(infos).items() if queue.topic == topic}
    given: dict[MessageQueue, str] = {}
    if queues and strategy not in NEED_MORE:
        parts = plan(strategy or Strategy.AVG, group, queues=queues, client_ids=members)
        given = {queue: member for member, part in parts.items() for queue in part}
    owners |= {queue: member for queue, member in given.items() if member not in infos}
    return GroupAssignment(
        queues,
        members,
        owners,
        strategy or Strategy.AVG,
        strategy is None,
        given,
        any(info.properties.get(ORDERLY_PROPERTY) == "true" for info in infos.values()),
        said,
    )


async def topics_of(
    admin: "Admin", group: str, topic: str | None, *, answers: Answers | None = None
) -> list[str]:
    """Return the named topic, otherwise all that the group reads or has read, sorted.

    Raises:
        ItemNotFound: no broker knows the group, or it has read nothing.
    """
    if topic is not None:
        return [topic]
    places = await find_group(admin, group, answers=answers)
    topics = {
        name for place in places for name in place.offsets if not name.startswith(RETRY_PREFIX)
    }
    if not topics:
        raise ItemNotFound(
            f"group {group} has no offsets in any topic", hint=f"see `group show {group}`"
        )
    return sorted(topics)


def _strategy_of(info: ConsumerRunningInfo) -> Strategy | None:
    """Return the strategy that a member's properties name.

    A Java member reports a class name with a hash, ours the name of the strategy.
    """
    ours = info.properties.get(OUR_STRATEGY_PROPERTY)
    if ours in list(Strategy):
        return Strategy(ours)
    match = CLASS_NAME.search(info.properties.get(STRATEGY_PROPERTY, ""))
    return STRATEGY_OF_CLASS.get(match[1]) if match is not None else None
