"""``group update``: change the settings of a consumer group that are named, and only those.

Requests: as ``group create``.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.groupchange import (
    COLUMNS,
    GroupChange,
    Truth,
    WantedGroup,
    as_java_makes,
    change_groups,
    truth_of,
)
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import NOT_IN_4, Java, JavaOption, command
from mqadmin.rows import Outcome, exit_code_of
from storefmt.paths import check_group_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The group and what changes."""

    group: Annotated[str, argument("the consumer group", kind=Kind.GROUP)]
    consume: Annotated[Truth | None, option("its members may consume, or not")] = None
    from_min: Annotated[
        Truth | None, option("a member that is new may read from the first message")
    ] = None
    broadcast: Annotated[Truth | None, option("its members may broadcast")] = None
    retry_max: Annotated[int | None, option("deliveries before a message is a dead letter")] = None
    retry_queues: Annotated[int | None, option("queues of its retry topic")] = None
    broker_id: Annotated[int | None, option("id of the broker that members read from")] = None
    slow_broker_id: Annotated[
        int | None, option("id of the broker that members read old messages from")
    ] = None
    notify: Annotated[Truth | None, option("members hear at once who comes and goes")] = None
    replace: Annotated[bool, option("reset what is not named, as Java does")] = False
    create: Annotated[bool, option("make it where it is not there")] = False
    cluster: Annotated[str | None, option("on its masters", kind=Kind.CLUSTER)] = None
    broker: Annotated[str | None, option("only there: a name or HOST:PORT", kind=Kind.BROKER)] = (
        None
    )


@command(
    "group update",
    "change settings of a consumer group",
    examples=(
        ("mqadmin group update billing --retry-max 3", "everything else as it was"),
        ("mqadmin group update billing --consume false", "stop it; `undo` lets it go on"),
    ),
    rows=GroupChange,
    columns=COLUMNS,
    writes=True,
    java=(
        Java(
            "updateSubGroup",
            (
                JavaOption("g", "groupName", "group", required=True),
                JavaOption("b", "brokerAddr", "broker"),
                JavaOption("c", "clusterName", "cluster"),
                JavaOption("s", "consumeEnable", "consume"),
                JavaOption("m", "consumeFromMinEnable", "from_min"),
                JavaOption("d", "consumeBroadcastEnable", "broadcast"),
                JavaOption("q", "retryQueueNums", "retry_queues"),
                JavaOption("r", "retryMaxTimes", "retry_max"),
                JavaOption("i", "brokerId", "broker_id"),
                JavaOption("w", "whichBrokerWhenConsumeSlowly", "slow_broker_id"),
                JavaOption("a", "notifyConsumerIdsChanged", "notify"),
                JavaOption("", "consumeMessageOrderly", since_5=True, refused=NOT_IN_4),
                JavaOption("p", "groupRetryPolicy", since_5=True, refused=NOT_IN_4),
                JavaOption("", "attributes", since_5=True, refused=NOT_IN_4),
            ),
            preset=(("create", "true"),),
            any_of=("broker", "cluster"),
        ),
    ),
)
async def update_group(call: Call, args: Arguments) -> Outcome:
    """Return one row a broker, with the old values of what changed.

    Raises:
        BadCall: the name is none for a group.
        NotFound: there is no such cluster or broker.
    """
    check_group_name(args.group)
    wanted = WantedGroup(
        base=as_java_makes(args.group),
        consume_enable=truth_of(args.consume),
        consume_from_min_enable=truth_of(args.from_min),
        consume_broadcast_enable=truth_of(args.broadcast),
        retry_queue_nums=args.retry_queues,
        retry_max_times=args.retry_max,
        broker_id=args.broker_id,
        which_broker_when_consume_slowly=args.slow_broker_id,
        notify_consumer_ids_changed_enable=truth_of(args.notify),
        replace=args.replace,
    )
    rows = await change_groups(
        call,
        [wanted],
        cluster=args.cluster,
        broker=args.broker,
        update=True,
        create=args.create,
    )
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
