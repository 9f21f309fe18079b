"""Archives: the messages of live topics as Parquet files, and the way back.

Messages enter with their offsets and are written once each; manifests, or the transactions of a
Delta or an Iceberg table, say which files count. An archive with manifests is restored into topics
of live brokers or into a new store directory.

Start reading with ``archive.py``, which has the layout.
"""
