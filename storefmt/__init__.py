"""The bytes of a RocketMQ store at rest: formats, configuration files and offline tools.

Bytes and store directories enter; records, entries, tables and reports leave. Nothing here
knows the wire, and nothing writes into a store that it reads. Start with ``formats.layout``,
which declares every field, then read ``dispatch``, which says what a record of the log gives to
queues and index, and ``offline``, which opens a whole directory.
"""
