"""Commit logs, consume queues and index files as Arrow tables, for Spark and local analysis.

Ranges of store files enter and record batches leave, without a Python object for each row.
This room needs numpy and pyarrow; the Cython kernels in it are optional and change the speed
alone. Start with ``columns``, which lists the columns and reads the commit log.
"""
