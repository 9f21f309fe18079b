"""``broker clean expired-queues``: delete consume queues whose messages are all gone.

Request on each broker: CLEAN_EXPIRED_CONSUMEQUEUE.
"""

from mqadmin.call import Call
from mqadmin.cleaning import JAVA_OPTIONS, Arguments, Cleaned, clean
from mqadmin.registry import Java, command
from mqadmin.rows import Outcome
from mqclient.admin.admin import Admin


@command(
    "broker clean expired-queues",
    "delete consume queues whose messages are all gone",
    examples=(("mqadmin broker clean expired-queues -b broker-a -y", "on one broker"),),
    rows=Cleaned,
    writes=True,
    java=(Java("cleanExpiredCQ", JAVA_OPTIONS),),
)
async def clean_expired_queues(call: Call, args: Arguments) -> Outcome:
    """Return one row a broker.

    Raises:
        NotFound: there is no such cluster or broker.
    """
    return await clean(call, args, "queues without messages", Admin.clean_expired_queues)
