"""The message store: commit log, consume queues and index behind ``store.Store``.

Messages and reads come in from the broker, records and positions go out, and no module
here knows the wire. Start with ``store.Store.put``, which leads into ``commitlog``;
``recovery`` opens a directory, ``cleanup`` deletes old files, ``disk`` is the system.
"""
