"""``broker clean unused-topics``: delete the queues of topics that have no settings any more.

Request on each broker: CLEAN_UNUSED_TOPIC.
"""

from mqadmin.changes.cleaning import Cleaned, clean
from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where, to_clean
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call
from mqclient.admin.admin import Admin


@command(
    "broker clean unused-topics",
    examples=(("mqadmin broker clean unused-topics -b broker-a -y", "on one broker"),),
    rows=Cleaned,
    writes=True,
)
@to_clean
async def clean_unused_topics(call: Call, *, where: Where) -> Outcome:
    """Return one row a broker.

    Raises:
        NotFound: there is no such cluster or broker.
    """
    return await clean(
        call,
        "queues of topics without settings",
        Admin.clean_unused_topics,
        where=where,
    )
