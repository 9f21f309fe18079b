"""Archives: the messages of live topics as Parquet files, and the way back.

Messages enter with their offsets and are written once each; manifests say which files count. An
archive is restored into topics of live brokers or into a new store directory.

Start reading with ``archive.py``, which has the layout.
"""
