"""One file for each binary format of a store: its picture, its rules, its encoder and decoder.

Bytes enter and named tuples leave, and the other way round; damage is a ``RecordDamaged``
that says where. Only ``scan`` reads files: it walks the records of a commit log file. Start
with ``layout``, which declares every field, and ``message``, the record of the commit log.
"""
