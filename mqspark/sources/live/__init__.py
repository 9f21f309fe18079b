"""``rocketmq``: topics of live brokers as a batch, as a stream, and as a sink.

Options name the brokers and topics; ranges of queue offsets are planned, pulled with the client
library, and leave as Arrow batches. Rows that enter the sink leave as messages.

Start reading with ``source.py``, then ``plan.py``.
"""
