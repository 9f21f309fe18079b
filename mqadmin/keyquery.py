"""A key looked up in a store directory: what ``store query`` and ``store query key`` share."""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import NotFound, Usage
from mqadmin.parameters import Kind, argument, option
from mqadmin.records import body_form, row_at
from mqadmin.rows import Outcome
from mqadmin.storedtime import END_OF_TIME, START_OF_TIME, STORED_FROM, STORED_TO
from mqadmin.times import When
from storefmt.offline.views.storedir import StoreDir


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyQuery:
    """Which messages, and how much of them."""

    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    key: Annotated[str, argument("the key, or a unique key")]
    from_: Annotated[When, STORED_FROM] = START_OF_TIME
    to: Annotated[When, STORED_TO] = END_OF_TIME
    limit: Annotated[int, option("so many at most, the newest", short="c")] = 64
    no_body: Annotated[bool, option("leave the bodies out")] = False
    inflate: Annotated[bool, option("decompress the bodies")] = False


def query_store(call: Call, query: KeyQuery) -> Outcome:
    """Return one row a message, oldest first.

    Raises:
        NotFound: no message has the key.
        Usage: the limit is not positive.
    """
    if query.limit <= 0:
        raise Usage(f"limit {query.limit} is not positive")
    now_ms = call.now_ms()
    with StoreDir.open(call.store_dir) as store:
        found = store.query_key(
            query.topic,
            query.key,
            begin_ms=query.from_.ms(now_ms),
            end_ms=query.to.ms(now_ms),
            count_max=query.limit,
        )
        if not found:
            raise NotFound(
                f"no message with key {query.key!r} in topic {query.topic} of {store.root}",
                hint="check the key, and the time span where one is given",
            )
        rows = [
            row_at(
                record,
                log_offset=record.log_offset,
                file=f"commitlog/{store.log.file_holding(record.log_offset)}",
                body=body_form(no_body=query.no_body, inflate=query.inflate),
                warn=call.warn,
            )
            for record in found
        ]
    return Outcome(rows)
