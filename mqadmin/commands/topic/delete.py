"""``topic delete``: remove a topic from every broker, then from the name servers.

Requests: GET_BROKER_CLUSTER_INFO, GET_ALL_TOPIC_CONFIG on each broker,
DELETE_TOPIC_IN_BROKER where it is, DELETE_TOPIC_IN_NAMESRV on each name server.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from mqadmin.call import Call
from mqadmin.errors import NotFound
from mqadmin.parameters import Kind, argument, option
from mqadmin.places import MASTER, Place, all_brokers
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import CHANGED, REFUSED, WOULD_CHANGE, Outcome, Row, exit_code_of
from storefmt.paths import GROUP_SIZE_MAX, check_topic_name

if TYPE_CHECKING:
    from mqclient.admin_topic import TopicCalls


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which topic."""

    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    cluster: Annotated[str | None, option("only on its brokers", kind=Kind.CLUSTER)] = None


@dataclass(frozen=True, slots=True)
class TopicRemoval(Row):
    """What became of the topic at one server."""

    topic: str
    server: str
    address: str
    result: str
    remark: str | None = None


@command(
    "topic delete",
    "delete a topic and its messages",
    examples=(
        ("mqadmin topic delete orders --dry-run", "where it would be deleted"),
        ("mqadmin topic delete orders -y", "delete it without being asked"),
    ),
    rows=TopicRemoval,
    writes=True,
    java=(
        Java(
            "deleteTopic",
            (
                JavaOption("c", "clusterName", "cluster", required=True),
                JavaOption("t", "topic", "topic", required=True),
            ),
        ),
    ),
)
async def delete_topic(call: Call, args: Arguments) -> Outcome:
    """Return one row a server.

    Raises:
        NotFound: no broker has the topic, or there is no such cluster.
    """
    check_topic_name(args.topic, size_max=GROUP_SIZE_MAX)
    admin = await call.topics()
    known = await all_brokers(admin)
    brokers = [place for place in known if args.cluster in (None, place.cluster)]
    if not brokers:
        raise NotFound(f"no cluster {args.cluster!r}", hint="`cluster list` shows them")
    having = [
        place
        for place in brokers
        if place.broker_id == MASTER
        and args.topic in (await admin.topic_configs(place.address)).topics
    ]
    if not having and args.topic not in await admin.topic_list():
        raise NotFound(f"topic {args.topic} is on no broker", hint="`topic list` shows them")
    await call.confirm(
        f"delete topic {args.topic} with all its messages on {len(having)} broker(s)?"
    )
    rows = [await _delete_there(call, admin, args.topic, place) for place in having]
    client = await call.client()
    addresses = list(client.namesrv_addresses)
    rows += [await _forget(call, admin, args, address) for address in addresses]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))


async def _delete_there(call: Call, admin: "TopicCalls", topic: str, place: Place) -> TopicRemoval:
    if call.dry_run:
        return TopicRemoval(topic, place.broker, place.address, WOULD_CHANGE)
    await admin.delete_topic_in_broker(place.address, topic)
    left = topic in (await admin.topic_configs(place.address)).topics
    return TopicRemoval(topic, place.broker, place.address, REFUSED if left else CHANGED)


async def _forget(call: Call, admin: "TopicCalls", args: Arguments, address: str) -> TopicRemoval:
    if call.dry_run:
        return TopicRemoval(args.topic, "namesrv", address, WOULD_CHANGE)
    await admin.delete_topic_in_namesrv(address, args.topic, cluster=args.cluster)
    gone = args.topic not in await admin.topic_list()
    if gone or args.cluster is not None:
        return TopicRemoval(args.topic, "namesrv", address, CHANGED)
    return TopicRemoval(args.topic, "namesrv", address, REFUSED, "it still lists the topic")
