"""``topic perm``: set who may read and write a topic.

Requests: those of ``mqadmin.changes.topic_change``.
"""

from dataclasses import replace

from mqadmin.changes.topic_change import TopicChange, TopicUpdate, change_topics, force_option
from mqadmin.cli.declare import Call, Outcome, argument, command
from mqadmin.cli.decorators import Where, on_masters, topic_argument
from mqadmin.cli.types import TextType
from mqadmin.output.topic_kinds import parse_perm


@command(
    "topic perm",
    examples=(
        ("mqadmin topic perm orders R -y", "producers can no longer write"),
        ("mqadmin topic perm orders RW --broker broker-a", "allow both again, on one broker"),
    ),
    details="Removing a permission needs confirmation; granting one does not.",
    rows=TopicChange,
    columns=("topic", "broker", "perm", "was", "result", "remark"),
    writes=True,
)
@topic_argument()
@argument("perm", type=TextType(read=parse_perm), help="RW, R, W, or 6, 4, 2")
@force_option
@on_masters
async def set_topic_perm(
    call: Call, *, topic: str, perm: int, force: bool, where: Where
) -> Outcome:
    """Return one row for each broker, with the old permission where it changed.

    Raises:
        BadCall: the name is not allowed for a topic.
        ItemNotFound: the cluster or broker does not exist.
    """
    outcome = await change_topics(
        call,
        [TopicUpdate(topic=topic, perm=perm)],
        where=where,
        update=True,
        create=False,
        asks=True,
        force=force,
    )
    return replace(outcome, layout="--broker" if where.broker else "")
