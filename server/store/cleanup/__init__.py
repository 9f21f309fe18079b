"""Deletion of old data: files of the log by age and disk usage, then queues and index.

The settings of the store and the clock go in; file names to remove come out, and threads
remove them. Start with ``retention`` for the policy and ``cleaner.Cleaner`` for its order.
"""
