"""The state that the parts of one consumer share: process queues, offsets, rates and hooks.

Pulled messages enter a ``ProcessQueue`` and leave it when they are consumed; offsets leave to the
brokers or to a file, and failed messages go back to a broker. Nothing here decides which queues are
consumed or when.

Start reading with ``consumer_state.py``, then ``process_queue.py``.
"""
