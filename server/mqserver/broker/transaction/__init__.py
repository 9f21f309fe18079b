"""Transactional messages: half messages, and the checks of those that are still open.

``half_messages`` makes the records of half messages and of decisions (37); start there.
``transaction_checks`` asks producers about half messages without a decision (39).
"""
