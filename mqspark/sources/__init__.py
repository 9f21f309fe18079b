"""The data sources of PySpark: a store directory (``store/``) and live brokers (``live/``).

Spark asks for a plan and then reads its parts in workers; rows leave as Arrow batches. The sources
import only the standard library and storefmt until Spark needs more.

Start reading with ``store/source.py``.
"""
