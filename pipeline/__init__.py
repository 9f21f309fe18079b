"""RocketMQ in Spark: stores and topics as data sources, archives, and jobs over many stores.

    spark = pipeline.session.session(...)      a Spark session that knows both sources
    pipeline.frames.commitlog(spark, path)     the messages of a store
    python -m pipeline JOB DIR...              a job as a process

Store directories and live topics enter as tables; rows, reports, Parquet files and restored stores
leave. Start reading with ``session.py``, then ``sources/store/source.py``.
"""
