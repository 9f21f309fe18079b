"""The operating system as the store sees it, behind one protocol that tests replace.

Paths, bytes and syncs go in; bytes, sizes and disk errors come out. Nothing here knows
what a record or a queue is. Start with ``disk.Disk``, then ``nowait`` for reads that must
not block the event loop.
"""
