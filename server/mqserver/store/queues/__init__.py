"""Consume queues: 20 bytes for each message of a topic's queue, and their ext files.

Dispatch adds entries and readers read them. Queues that are not in use are evicted to columns of
numbers (``evicted_queues``), and their unwritten entries to ``entry_backlog``. Start with
``queue.ConsumeQueue``, then ``queue_table`` for all queues of a store.
"""
