"""The commit log: how a message becomes a record, and how records are read and scanned.

A message goes in, and a record with its log offset and queue offset comes out; ``dispatcher``
then adds its entries to queues and index. Start with ``append.Appender``, then ``log_files``
for the files, and ``log_scan`` for scanning a log that may be damaged.
"""
