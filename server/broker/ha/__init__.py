"""Replication: a master sends its log, slaves copy it, and one of them may be promoted.

The log and connections of slaves come in; a copy of the log, acknowledgements for SYNC_MASTER
and a role go out. Start with ``replication.Replication``; ``epoch`` and ``fence`` decide which
of two masters takes messages, ``sending`` and ``receiving`` are the two ends of a connection.
"""
