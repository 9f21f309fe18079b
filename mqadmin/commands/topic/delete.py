"""``topic delete``: remove a topic from every broker, then from the name servers.

Requests: GET_BROKER_CLUSTER_INFO, GET_ALL_TOPIC_CONFIG on each broker,
DELETE_TOPIC_IN_BROKER where it is, GET_ALL_TOPIC_LIST_FROM_NAMESERVER and
DELETE_TOPIC_IN_NAMESRV on each name server.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import NotFound
from mqadmin.parameters import Kind, argument, option
from mqadmin.places import MASTER, all_brokers, namesrvs
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import Outcome, Row, exit_code_of
from mqadmin.things.route import RouteThing
from mqadmin.things.topic import TopicThing
from mqadmin.writes import carry_out, plan
from storefmt.paths import GROUP_SIZE_MAX, check_topic_name


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
    here = [place for place in brokers if place.broker_id == MASTER]
    names = (args.topic,) if args.cluster is None else (args.topic, args.cluster)
    on_brokers = await plan([TopicThing(admin, place, (args.topic,)) for place in here], _gone)
    at_namesrvs = await plan(
        [RouteThing(admin, place, names) for place in await namesrvs(call)], _gone
    )
    having = [step.untyped() for step in on_brokers if step.is_write or step.verdict]
    # Brokers first: one that still has the topic would have it registered again.
    known_at = [step.untyped() for step in at_namesrvs if step.is_write or step.verdict]
    if not having and not known_at:
        raise NotFound(f"topic {args.topic} is on no broker", hint="`topic list` shows them")
    done = await carry_out(
        call,
        having + known_at,
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
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))


def _gone(_: object) -> None:
    return None
