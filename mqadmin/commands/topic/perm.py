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
        ("mqadmin topic perm orders R -y", "nobody writes to it any more"),
        ("mqadmin topic perm orders RW --broker broker-a", "everybody, on one broker"),
    ),
    details="A question is asked before a permission is taken away, and none before one is given.",
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
        ItemNotFound: there is no such cluster or broker.
    """
    done = await change_topics(
        call,
        [TopicUpdate(topic=topic, perm=perm)],
        where=where,
        update=True,
        create=False,
        asks=True,
        force=force,
    )
    return replace(done, layout="--broker" if where.broker else "")
