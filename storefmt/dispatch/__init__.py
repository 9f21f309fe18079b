"""What a broker derives from the commit log: the entries of its queues and of its index.

Records and old entries enter; queue entries, index entries and the bytes of index files leave.
The server's dispatch and recovery and the offline rebuild are drivers of it: they read the log,
and write through their own disks. Start with ``record_entries``, which says which entries a record
gets, then ``queue_offsets`` and ``queue_entries`` for queues, and ``index_table`` for index files.
"""
