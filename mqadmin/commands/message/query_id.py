"""``message query id``: find the message with an offset id or a unique id.

Requests: VIEW_MESSAGE_BY_ID, or QUERY_MESSAGE in ``--topic``.
"""

from collections.abc import AsyncIterator

from mqadmin.cli.declare import Call, Needs, Outcome, Row, command, one
from mqadmin.cli.decorators import message_ids_argument, no_body_option, of_cluster, topic_of_id
from mqadmin.messages.find import find_message, split_ids
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, MessageRow, row_of


@command(
    "message query id",
    examples=(
        ("mqadmin message query id 7F00000100002A9F0000000000000000", "by offset id"),
        ("mqadmin message query id 7F0000013A2118B4AAC2... --topic orders", "by unique id"),
        ("mqadmin message query id 7F00000100002A9F... 7F00000100002A9F...", "two at once"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.EITHER,
    direct=True,
)
@message_ids_argument
@topic_of_id
@of_cluster(help="ask the brokers of this cluster for unique ids, not those of the topic's route")
@no_body_option
async def query_id(
    call: Call,
    *,
    message_ids: tuple[str, ...],
    topic: str | None,
    cluster: str | None,
    no_body: bool,
) -> Outcome:
    """Return the message, or one row for each of several.

    Raises:
        BadCall: the text is not an id.
        ItemNotFound: no message has this id.
        Usage: it looks like a unique id and no topic is given.
    """
    ids = split_ids(message_ids)
    if call.is_offline:
        from mqadmin.store_access.stored_rows import refuse_cluster, stored_messages

        refuse_cluster(cluster)
        return stored_messages(call, ids, no_body=no_body)
    if call.settings.compat:
        # Java's tool also prints which groups have read the message.
        from mqadmin.messages.track import with_tracks

        messages = [await find_message(call, text, topic=topic, route_of=cluster) for text in ids]
        return Outcome(with_tracks(call, messages))

    async def row(message_id: str) -> MessageRow:
        message = await find_message(call, message_id, topic=topic, route_of=cluster)
        return row_of(message, warn=call.warn, body=not no_body)

    async def rows() -> AsyncIterator[Row]:
        for message_id in ids:
            yield await row(message_id)

    if len(ids) == 1:
        return one(await row(ids[0]))
    return Outcome(rows())
