"""Answers about a store: statistics, the history of a message, events, comparison, hexdump.

An opened store and a question enter; plain values leave, for a command or a Spark job to
print. Damage is skipped where it does not matter; ``verify`` reports it. Start
with ``stats`` (counts) and ``trace`` (all records that belong to one message).
"""
