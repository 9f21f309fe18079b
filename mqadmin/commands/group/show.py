"""``group show``: show members, subscriptions and settings of one group.

Requests on each master: GET_ALL_SUBSCRIPTIONGROUP_CONFIG, GET_ALL_CONSUMER_OFFSET,
GET_CONSUMER_LIST_BY_GROUP, GET_CONSUME_STATS, GET_CONSUMER_CONNECTION_LIST where it has members,
and GET_CONSUMER_RUNNING_INFO of each, to say where they disagree on what the group reads.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from mqadmin.cli.declare import Call, Outcome, Row, command, one
from mqadmin.cli.decorators import broker_option, group_argument
from mqadmin.cluster.groups import GroupAt, connection, find_group
from mqadmin.cluster.members import MemberSurvey, disagreement, infos_of
from mqadmin.cluster.partial_answers import Answers
from remoting.bodies import ConsumerConnection, ConsumeStats


@dataclass(frozen=True, slots=True)
class OnlineMember(Row):
    """One connected client."""

    client_id: str
    client_address: str
    language: str
    version: int


@dataclass(frozen=True, slots=True)
class GroupSubscription(Row):
    """The subscription of the group to one topic."""

    topic: str
    expression: str
    expression_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDetail(Row):
    """One group; modes are None while no member is connected.

    ``inflight`` is that of ``group lag``, over all queues.
    """

    group: str
    online: bool
    consume_type: str | None
    message_model: str | None
    consume_from_where: str | None
    topics: tuple[str, ...]
    brokers: tuple[str, ...]
    consume_enable: bool | None = None
    retry_max_times: int | None = None
    inflight: int | None
    connections: tuple[OnlineMember, ...]
    subscriptions: tuple[GroupSubscription, ...]


@command(
    "group show",
    examples=(("mqadmin group show billing", "members, subscriptions and settings"),),
    rows=GroupDetail,
)
@group_argument()
@broker_option(help="ask only this broker: a name or HOST:PORT")
async def show_group(call: Call, *, group: str, broker: str | None) -> Outcome:
    """Return the group.

    Raises:
        ItemNotFound: no broker knows it.
    """
    admin = await call.admin()
    answers = Answers(call)
    places = await find_group(admin, group, broker=broker, answers=answers)
    connected = [
        body
        for place in places
        if place.members and (body := await connection(admin, place.node, group)) is not None
    ]
    stats = await answers.each(
        [place.node for place in places if place.is_known],
        lambda node: admin.consume_stats(node.address, group),
    )
    detail = _detail(group, places, connected, [each for _, each in stats])
    asked = MemberSurvey(admin, call.now_ms)
    addresses = {who: place.node.address for place in places for who in place.members}
    text = disagreement(infos_of(await asked.survey(group, addresses)))
    notes = (
        *([f"group {group}: {text}"] if text else []),
        *asked.notes("its subscriptions are unknown"),
    )
    return one(detail, exit_code=answers.exit_code() or asked.exit_code(), notes=notes)


def _detail(
    group: str,
    places: list[GroupAt],
    connected: list[ConsumerConnection],
    stats: list[ConsumeStats],
) -> GroupDetail:
    """Combine the answers of the brokers; every member is connected to each of them."""
    members: dict[str, OnlineMember] = {}
    subscriptions: dict[str, GroupSubscription] = {}
    for body in connected:
        for client in body.connection_set:
            name = client.client_id or ""
            language = client.language.name if client.language is not None else ""
            members[name] = OnlineMember(name, client.client_addr or "", language, client.version)
        for topic, data in body.subscription_table.items():
            kind = data.expression_type or "TAG"
            subscriptions[topic] = GroupSubscription(topic, data.sub_string or "", kind)
    first = connected[0] if connected else None
    settings = next((at.settings for at in places if at.settings is not None), None)
    return GroupDetail.of(
        settings,
        group=group,
        online=bool(members),
        consume_type=_name(first.consume_type) if first else None,
        message_model=_name(first.message_model) if first else None,
        consume_from_where=_name(first.consume_from_where) if first else None,
        topics=tuple(sorted({topic for at in places for topic in at.offsets})),
        brokers=tuple(sorted(at.node.broker for at in places if at.is_known)),
        inflight=_sum(at.inflight for one in stats for at in one.offset_table.values()),
        connections=tuple(members[name] for name in sorted(members)),
        subscriptions=tuple(subscriptions[topic] for topic in sorted(subscriptions)),
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    """Return the sum of the known counts; None if no count is known."""
    known_counts = [count for count in counts if count is not None]
    return sum(known_counts) if known_counts else None


def _name(member: object) -> str | None:
    name = getattr(member, "name", None)
    return name if isinstance(name, str) else None
