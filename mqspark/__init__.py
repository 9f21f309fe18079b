"""RocketMQ in Spark: stores and topics as data sources, archives, and jobs over many stores.

    import mqspark                         the active session learns both sources
    spark = mqspark.session()              the active session, or a new one
    mqspark.commitlog(spark, path)         the messages of a store
    python -m mqspark JOB DIR...           a job as a process

Store directories and live topics enter as tables; rows, reports, Parquet files and restored stores
leave. Start reading with ``sessions.py``, then ``sources/store/source.py``.
"""

from mqspark.frames import commitlog, damage, table
from mqspark.progress import backlog
from mqspark.sessions import register, register_active, session

__all__ = ["backlog", "commitlog", "damage", "register", "session", "table"]

register_active()
