"""``broker clean unused-topics``: delete the queues of topics that have no settings any more.

Request on each broker: CLEAN_UNUSED_TOPIC.
"""

from mqadmin.call import Call
from mqadmin.cleaning import JAVA_OPTIONS, Arguments, Cleaned, clean
from mqadmin.registry import Java, command
from mqadmin.rows import Outcome
from mqclient.admin.admin import Admin


@command(
    "broker clean unused-topics",
    "delete the queues of topics that have no settings any more",
    examples=(("mqadmin broker clean unused-topics -b broker-a -y", "on one broker"),),
    rows=Cleaned,
    writes=True,
    java=(Java("cleanUnusedTopic", JAVA_OPTIONS),),
)
async def clean_unused_topics(call: Call, args: Arguments) -> Outcome:
    """Return one row a broker.

    Raises:
        NotFound: there is no such cluster or broker.
    """
    return await clean(call, args, "queues of topics without settings", Admin.clean_unused_topics)
