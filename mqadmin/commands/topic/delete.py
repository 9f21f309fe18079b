"""``topic delete``: remove a topic from every broker, then from the name servers.

Requests: GET_BROKER_CLUSTER_INFO, GET_ALL_TOPIC_CONFIG on each broker,
DELETE_TOPIC_IN_BROKER where it is, DELETE_TOPIC_IN_NAMESRV on each name server.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from mqadmin.call import Call
from mqadmin.errors import NotFound
from mqadmin.parameters import Kind, argument, option
from mqadmin.places import MASTER, all_brokers
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import (
    CHANGED,
    REFUSED,
    UNREACHABLE,
    WOULD_CHANGE,
    Outcome,
    Row,
    exit_code_of,
)
from mqadmin.things.topic import TopicThing
from mqadmin.writes import carry_out, plan
from storefmt.configs import TopicConfig
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
    admin = await call.admin()
    known = await all_brokers(admin)
    brokers = [place for place in known if args.cluster in (None, place.cluster)]
    if not brokers:
        raise NotFound(f"no cluster {args.cluster!r}", hint="`cluster list` shows them")
    masters = [place for place in brokers if place.broker_id == MASTER]
    steps = await plan([TopicThing(admin, place, (args.topic,)) for place in masters], _gone)
    having = [step for step in steps if step.is_write or step.verdict]
    if not having and args.topic not in await admin.topic_list():
        raise NotFound(f"topic {args.topic} is on no broker", hint="`topic list` shows them")
    done = await carry_out(
        call,
        having,
        title=f"topic delete {args.topic}",
        question=f"delete topic {args.topic} with all its messages on {len(having)} broker(s)?",
    )
    rows = [
        TopicRemoval(
            args.topic,
            one.step.thing.place.broker,
            one.step.thing.place.address,
            one.result,
            one.remark,
        )
        for one in done
    ]
    if any(row.result in {REFUSED, UNREACHABLE} for row in rows):
        # A broker that still has it would have it registered again.
        return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
    if not having:
        await call.confirm(f"have the name servers forget topic {args.topic}?")
    addresses = list((await call.client()).namesrv_addresses)
    rows += [await _forget(call, admin, args, address) for address in addresses]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))


def _gone(_: TopicConfig | None) -> None:
    return None


async def _forget(call: Call, admin: "TopicCalls", args: Arguments, address: str) -> TopicRemoval:
    if call.dry_run:
        return TopicRemoval(args.topic, "namesrv", address, WOULD_CHANGE)
    await admin.delete_topic_in_namesrv(address, args.topic, cluster=args.cluster)
    gone = args.topic not in await admin.topic_list()
    if gone or args.cluster is not None:
        return TopicRemoval(args.topic, "namesrv", address, CHANGED)
    return TopicRemoval(args.topic, "namesrv", address, REFUSED, "it still lists the topic")
