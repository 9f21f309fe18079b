"""``broker clean expired-log``: delete commit log files past their age now, not at the usual hour.

Request on each broker: DELETE_EXPIRED_COMMITLOG.
"""

from mqadmin.call import Call
from mqadmin.cleaning import JAVA_OPTIONS, Arguments, Cleaned, clean
from mqadmin.registry import Java, command
from mqadmin.rows import Outcome
from mqclient.admin.admin import Admin


@command(
    "broker clean expired-log",
    "delete commit log files past their age now, not at the usual hour",
    examples=(("mqadmin broker clean expired-log -b broker-a -y", "on one broker"),),
    rows=Cleaned,
    writes=True,
    java=(Java("deleteExpiredCommitLog", JAVA_OPTIONS),),
)
async def clean_expired_log(call: Call, args: Arguments) -> Outcome:
    """Return one row a broker.

    Raises:
        NotFound: there is no such cluster or broker.
    """
    return await clean(call, args, "commit log files past their age", Admin.delete_expired_log)
