"""``store query key``: the messages of a topic that have a key, out of a store directory."""

from mqadmin.call import Call
from mqadmin.keyquery import KeyQuery, query_store
from mqadmin.messages import MESSAGE_COLUMNS, MessageRow
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome


@command(
    "store query key",
    "find the messages with a key in a store directory",
    details="The index files say where to look; what they do not cover is read from the log.",
    examples=(("mqadmin store query key DIR orders o-17", "all with this key"),),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.STORE,
)
def query_key(call: Call, args: KeyQuery) -> Outcome:
    """Return one row a message, oldest first; errors as ``query_store``."""
    return query_store(call, args)
