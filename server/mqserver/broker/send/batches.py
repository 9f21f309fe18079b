"""Read the messages of a batch send in one pass, in runs of ``RUN_COUNT_MAX`` messages.

    | size | 0 | 0 | flag | body_size | body | properties_size | own properties | …
                       │                 └────────────┐               │
                       └── RunMessage(body, own properties + suffix, flag, tag code, keys)

The suffix holds the properties of the whole batch, which are appended to those of each message.

Rule: no body is copied.

Source: store/CommitLog.java#MessageExtBatchEncoder, common/message/MessageDecoder.java
(4.9.7).
"""

from collections.abc import Iterator
from typing import Final

from mqserver.broker.stored_properties import BatchSuffix
from mqserver.runtime.request import RequestRefused
from mqserver.store.results import RunMessage
from remoting.codes import ResponseCode
from storefmt.errors import RecordDamaged
from storefmt.formats.batch import batch_spans
from storefmt.formats.javahash import tags_code
from storefmt.formats.properties import (
    PROPERTIES_SIZE_MAX,
    PROPERTY_SEPARATOR,
    TAGS,
    index_keys,
    parse_properties,
)

RUN_COUNT_MAX: Final = 1_024
"""Messages that are read or stored in one slice, before other requests can run."""
_SEPARATOR: Final = PROPERTY_SEPARATOR.encode()


def read_batch(data: bytes, *, ends: BatchSuffix, illegal: str) -> Iterator[list[RunMessage]]:
    """Yield the messages of ``data``, the body of a batch send; only the last run may be shorter.

    Args:
        ends: what is appended to the properties of every message.
        illegal: the remark if the properties of a message are too long or the batch is empty.

    Raises:
        RequestRefused: the body is not a batch, is empty, or holds a message that is not allowed.
    """
    messages: list[RunMessage] = []
    view = memoryview(data)
    try:
        for flag, body_pos, body_end, own_pos, end in batch_spans(data):
            own = data[own_pos:end]
            separator = b"" if not own or own.endswith(_SEPARATOR) else _SEPARATOR
            properties = own + separator + ends.data
            if len(properties) > PROPERTIES_SIZE_MAX:
                raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, illegal)
            # No other property is acted on: a message with DELAY is delivered at once, as in Java.
            named = parse_properties(properties if ends.is_indexed else own)
            body = view[body_pos:body_end]
            messages.append(
                RunMessage(body, properties, flag, tags_code(named.get(TAGS)), index_keys(named))
            )
            if len(messages) == RUN_COUNT_MAX and end < len(data):
                yield messages
                messages = []
    except RecordDamaged as error:
        raise RequestRefused(
            ResponseCode.SYSTEM_ERROR, f"the body is not a batch of messages: {error}"
        ) from error
    if not messages:
        raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, illegal)
    yield messages
