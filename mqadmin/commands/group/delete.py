"""``group delete``: remove a consumer group, and what it left behind where that is asked for.

    settings          always
    offsets           --offsets
    retry, dead letter topic   --topics, on brokers and name servers

Requests on each master: GET_ALL_SUBSCRIPTIONGROUP_CONFIG, GET_ALL_CONSUMER_OFFSET,
GET_CONSUMER_LIST_BY_GROUP, DELETE_SUBSCRIPTIONGROUP; with --topics DELETE_TOPIC_IN_BROKER and
DELETE_TOPIC_IN_NAMESRV too.
"""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from mqadmin.call import Call
from mqadmin.errors import NotFound
from mqadmin.journal import Saved
from mqadmin.parameters import Kind, argument, option
from mqadmin.places import Place, masters, namesrvs
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import NOT_FOUND, Outcome, Row, exit_code_of
from mqadmin.things.group import GroupThing
from mqadmin.things.offset import OffsetThing
from mqadmin.things.route import RouteThing
from mqadmin.things.topic import TopicThing
from mqadmin.writes import Declined, Step, carry_out, plan
from storefmt.config.tables import SubscriptionGroup
from storefmt.names import DLQ_PREFIX, RETRY_PREFIX
from storefmt.paths import check_group_name

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

LEFT_BEHIND = (RETRY_PREFIX, DLQ_PREFIX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which group, and what else goes."""

    group: Annotated[str, argument("the consumer group", kind=Kind.GROUP)]
    offsets: Annotated[bool, option("its offsets too: a new group begins anew")] = False
    topics: Annotated[bool, option("its retry and dead letter topics too")] = False
    cluster: Annotated[str | None, option("on its masters", kind=Kind.CLUSTER)] = None
    broker: Annotated[
        str | None,
        option("only there, and no topics: a name or HOST:PORT", kind=Kind.BROKER),
    ] = None


@dataclass(frozen=True, slots=True)
class GroupRemoval(Row):
    """What became of the group, or one of its topics, at one server."""

    kind: str
    name: str
    server: str
    address: str
    result: str
    remark: str | None


@command(
    "group delete",
    "delete a consumer group",
    examples=(
        ("mqadmin group delete billing --dry-run", "where it would be deleted"),
        ("mqadmin group delete billing --offsets --topics -y", "leave nothing behind"),
    ),
    details="Brokers make a group again when a member connects (autoCreateSubscriptionGroup).\n"
    "Settings and offsets come back with `undo`; messages of its topics do not.",
    rows=GroupRemoval,
    writes=True,
    java=(
        Java(
            "deleteSubGroup",
            (
                JavaOption("g", "groupName", "group", required=True),
                JavaOption("b", "brokerAddr", "broker"),
                JavaOption("c", "clusterName", "cluster"),
                JavaOption("r", "removeOffset", "offsets"),
            ),
            preset=(("topics", "true"),),
            any_of=("broker", "cluster"),
        ),
    ),
)
async def delete_group(call: Call, args: Arguments) -> Outcome:
    """Return one row a server and thing.

    Raises:
        BadCall: the name is none for a group.
        NotFound: no broker has the group, or there is no such cluster or broker.
    """
    check_group_name(args.group)
    admin = await call.admin()
    places = await masters(admin, cluster=args.cluster, broker=args.broker)
    groups = await plan(
        [GroupThing(admin, place, (args.group,), args.offsets) for place in places], _gone
    )
    if all(step.verdict == NOT_FOUND for step in groups):
        raise NotFound(f"no broker has group {args.group}", hint="`group list` shows them")
    steps = [step.untyped() for step in groups]
    if args.topics and args.broker is None:
        steps += await _topics(call, admin, args.group, places)
    members = await asyncio.gather(
        *(admin.consumer_ids(place.address, args.group) for place in places)
    )
    online = len({member for part in members for member in part})
    done = await carry_out(
        call,
        steps,
        title=f"group delete {args.group}",
        also=await _offsets(admin, args.group, places) if args.offsets else (),
        question=f"delete group {args.group} on {len(places)} broker(s)"
        + (f", while {online} member(s) are online?" if online else "?"),
    )
    rows = [
        GroupRemoval(
            one.step.thing.kind,
            one.step.thing.names[0],
            one.step.thing.place.broker,
            one.step.thing.place.address,
            one.result,
            one.remark,
        )
        for one in done
    ]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))


async def _topics(
    call: Call, admin: "Admin", group: str, places: list[Place]
) -> list[Step[object]]:
    """Return the steps that remove the topics of a group, where they are."""
    steps: list[Step[object]] = []
    for prefix in LEFT_BEHIND:
        topic = prefix + group
        at_brokers = await plan(
            [TopicThing(admin, place, (topic,)) for place in places], lambda _: None
        )
        at_namesrvs = await plan(
            [RouteThing(admin, place, (topic,)) for place in await namesrvs(call)], lambda _: None
        )
        steps += [step.untyped() for step in at_brokers if step.old is not None]
        steps += [step.untyped() for step in at_namesrvs if step.old is not None]
    return steps


async def _offsets(admin: "Admin", group: str, places: list[Place]) -> list[Saved]:
    """Return every offset of the group as the journal keeps it."""
    tables = await asyncio.gather(*(admin.all_consumer_offsets(at.address) for at in places))
    return [
        OffsetThing(admin, place, (group, topic, str(queue_id))).saved(offset)
        for place, table in zip(places, tables, strict=True)
        for (topic, name), queues in table.items()
        if name == group
        for queue_id, offset in queues.items()
    ]


def _gone(old: SubscriptionGroup | None) -> None:
    if old is None:
        raise Declined(NOT_FOUND)
