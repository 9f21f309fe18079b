"""RocketMQ in Spark: stores and topics as data sources, archives, and jobs over many stores.

    import pipeline                         the active session learns both sources
    spark = pipeline.session()              the active session, or a new one
    pipeline.commitlog(spark, path)         the messages of a store
    python -m pipeline JOB DIR...           a job as a process

Store directories and live topics enter as tables; rows, reports, Parquet files and restored stores
leave. Start reading with ``sessions.py``, then ``sources/store/source.py``.
"""

from pipeline.frames import commitlog, damage, table
from pipeline.sessions import register, register_active, session

__all__ = ["commitlog", "damage", "register", "session", "table"]

register_active()
