"""The message store: commit log, consume queues and index behind ``store.MessageStore``.

The broker puts messages and asks for reads; records and their positions come out. No module
here knows the wire protocol. Start with ``store.MessageStore.put``, which leads into
``commitlog``; ``recovery`` opens a directory, ``cleanup`` deletes old files, and ``disk``
wraps the operating system.
"""
