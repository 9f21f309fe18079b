"""``broker clean expired-log``: delete commit log files past their age now, not at the usual hour.

Request on each broker: DELETE_EXPIRED_COMMITLOG.
"""

from mqadmin.changes.cleaning import Cleaned, clean
from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where, to_clean
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call
from mqclient.admin.admin import Admin


@command(
    "broker clean expired-log",
    examples=(("mqadmin broker clean expired-log -b broker-a -y", "on one broker"),),
    rows=Cleaned,
    writes=True,
)
@to_clean
async def clean_expired_log(call: Call, *, where: Where) -> Outcome:
    """Return one row a broker.

    Raises:
        NotFound: there is no such cluster or broker.
    """
    return await clean(
        call,
        "commit log files past their age",
        Admin.delete_expired_log,
        where=where,
    )
