"""Deletion of old data: log files by age and disk usage, then queues and index files.

The store's settings and the clock go in; files to remove come out, and threads remove
them. Start with ``retention`` for the policy and ``cleaner.Cleaner`` for the sequence of jobs.
"""
