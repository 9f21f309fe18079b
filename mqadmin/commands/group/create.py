"""``group create``: make a consumer group on the masters of a cluster, or on one broker.

Requests on each master: GET_ALL_SUBSCRIPTIONGROUP_CONFIG, UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
and GET_ALL_SUBSCRIPTIONGROUP_CONFIG again to read it back.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.groupchange import COLUMNS, GroupChange, WantedGroup, change_groups
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import command
from mqadmin.rows import Outcome, exit_code_of
from storefmt.config.tables import SubscriptionGroup
from storefmt.paths import check_group_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The group and where it goes."""

    group: Annotated[str, argument("the consumer group", kind=Kind.GROUP)]
    retry_max: Annotated[int, option("deliveries before a message is a dead letter")] = 16
    retry_queues: Annotated[int, option("queues of its retry topic")] = 1
    disabled: Annotated[bool, option("it may not consume yet")] = False
    no_broadcast: Annotated[bool, option("its members may not broadcast")] = False
    cluster: Annotated[str | None, option("on its masters", kind=Kind.CLUSTER)] = None
    broker: Annotated[str | None, option("only there: a name or HOST:PORT", kind=Kind.BROKER)] = (
        None
    )


@command(
    "group create",
    "create a consumer group",
    examples=(
        ("mqadmin group create billing", "on every master, with the settings of a broker"),
        ("mqadmin group create billing --retry-max 3", "a dead letter after three retries"),
    ),
    details="A group that is there with the same settings is left unchanged; one with others is\n"
    "refused: `group update` changes it.",
    rows=GroupChange,
    columns=COLUMNS,
    writes=True,
)
async def create_group(call: Call, args: Arguments) -> Outcome:
    """Return one row a broker.

    Raises:
        BadCall: the name is none for a group.
        NotFound: there is no such cluster or broker.
    """
    check_group_name(args.group)
    wanted = WantedGroup(
        base=SubscriptionGroup(args.group),
        consume_enable=not args.disabled,
        consume_broadcast_enable=not args.no_broadcast,
        retry_max_times=args.retry_max,
        retry_queue_nums=args.retry_queues,
    )
    rows = await change_groups(
        call,
        [wanted],
        cluster=args.cluster,
        broker=args.broker,
        update=False,
        create=True,
    )
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
