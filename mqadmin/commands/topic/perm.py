"""``topic perm``: who may read and write a topic.

Requests: as ``topic update``.
"""

from dataclasses import replace

import click

from mqadmin.changes.topic_change import TopicChange, Wanted, change_topics
from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where, on_masters, topic_argument
from mqadmin.cli.types import Word
from mqadmin.output.rows import Outcome
from mqadmin.output.topic_kinds import parse_perm
from mqadmin.session.call import Call


@command(
    "topic perm",
    examples=(
        ("mqadmin topic perm orders R -y", "nobody writes to it any more"),
        ("mqadmin topic perm orders RW --broker broker-a", "everybody, on one broker"),
    ),
    details="Taking a permission away is asked for first; giving one is not.",
    rows=TopicChange,
    columns=("topic", "broker", "perm", "was", "result", "remark"),
    writes=True,
)
@topic_argument()
@click.argument("perm", type=Word(read=parse_perm), help="RW, R, W, or 6, 4, 2")
@on_masters
async def set_topic_perm(call: Call, *, topic: str, perm: int, where: Where) -> Outcome:
    """Return one row a broker, with the old permission where it changed.

    Raises:
        BadCall: the name is none for a topic.
        NotFound: there is no such cluster or broker.
    """
    done = await change_topics(
        call,
        [Wanted(topic=topic, perm=perm)],
        where=where,
        update=True,
        create=False,
        asks=True,
    )
    return replace(done, layout="--broker" if where.broker else "")
