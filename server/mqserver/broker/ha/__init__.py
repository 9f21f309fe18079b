"""Replication: a master sends its log, slaves copy it, and one of them can be promoted.

Start with ``replication.Replication``, which gives the broker its role. ``sending`` and
``receiving`` are the two ends of a connection, ``sync_master_wait`` makes answers wait for a
slave, and ``epoch`` and ``fence`` decide which of two masters accepts messages.
"""
