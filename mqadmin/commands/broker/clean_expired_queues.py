"""``broker clean expired-queues``: delete consume queues whose messages are all gone.

Request on each broker: CLEAN_EXPIRED_CONSUMEQUEUE.
"""

from mqadmin.changes.cleaning import Cleaned, clean
from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where, to_clean
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call
from mqclient.admin.admin import Admin


@command(
    "broker clean expired-queues",
    examples=(("mqadmin broker clean expired-queues -b broker-a -y", "on one broker"),),
    rows=Cleaned,
    writes=True,
)
@to_clean
async def clean_expired_queues(call: Call, *, where: Where) -> Outcome:
    """Return one row a broker.

    Raises:
        NotFound: there is no such cluster or broker.
    """
    return await clean(call, "queues without messages", Admin.clean_expired_queues, where=where)
