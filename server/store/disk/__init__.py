"""What the store asks of an operating system, behind one protocol that tests replace.

Paths, bytes and syncs go in; bytes, sizes and errors of the disk come out. Nothing here
knows what a record or a queue is. Start with ``disk.Disk``, then ``nowait`` for reads
that must not block the event loop.
"""
