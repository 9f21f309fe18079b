"""``rocketmq_store``: the files of a store directory as tables.

The path of a store and the options of a load enter; the tables are planned as splits, read in
slices, and leave as Arrow batches, with the conditions of the query applied in the worker.

Start reading with ``source.py``, then ``tables.py``.
"""
