"""``store query``: the messages of a topic that have a key, out of a store directory.

``message query key --store DIR`` finds the same by the same code, in the form that brokers answer.
"""

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import (
    inflate_option,
    limit_option,
    no_bodies_option,
    stored_from,
    stored_to,
    topic_argument,
)
from mqadmin.cli.times import END_OF_TIME, START_OF_TIME
from mqadmin.cli.types import Integer
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, MessageRow
from mqadmin.messages.record_rows import body_form
from mqadmin.output.rows import Outcome
from mqadmin.output.times import When
from mqadmin.session.call import Call
from mqadmin.store.offline import stored_by_key


@command(
    "store query",
    details="The index files say where to look; what they do not cover is read from the log.",
    examples=(("mqadmin store query DIR orders o-17", "all with this key"),),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.STORE,
)
@topic_argument()
@click.argument("key", help="the key, or a unique key")
@stored_from(default=START_OF_TIME)
@stored_to(default=END_OF_TIME)
@limit_option(type=Integer(min=1), default=64, help="so many at most, the newest")
@no_bodies_option
@inflate_option
def query_key(
    call: Call,
    *,
    topic: str,
    key: str,
    from_: When,
    to: When,
    limit: int,
    no_body: bool,
    inflate: bool,
) -> Outcome:
    """Return one row a message, oldest first.

    Raises:
        NotFound: no message has the key.
    """
    now_ms = call.now_ms()
    return stored_by_key(
        call,
        topic,
        key,
        begin_ms=from_.ms(now_ms),
        end_ms=to.ms(now_ms),
        count_max=limit,
        body=body_form(no_body=no_body, inflate=inflate),
    )
