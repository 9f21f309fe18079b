"""One entry of a batch consume queue (5.x): 46 bytes that point at one record of several messages.

    0            8      12          20         28                  36
    | log_offset | size | tags_code | store_ms | base_queue_offset | message_count |
    38                 42         46
    | compacted_offset | reserved |

Rule: a topic with the attribute ``queue.type=BatchCQ`` has these under
``batchconsumequeue/<topic>/<queue id>/`` in place of a consume queue. Entries are in the
order of ``base_queue_offset`` and each covers ``message_count`` queue offsets, so a file is
named by bytes and searched by offset. A record of one message counts as 1. Free space is
all zero: an entry in use has a size.

Source: store/queue/BatchConsumeQueue.java#putBatchMessagePositionInfo (RocketMQ 5.3.3).
"""

from typing import Final

from storefmt.formats import layout

BATCH_ENTRY: Final = layout.BATCH_QUEUE_ENTRY.struct()
assert BATCH_ENTRY.size == 46
