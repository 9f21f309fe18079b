"""The job that the tests of the cluster submit: a slow count over a store.

spark-submit … clusterjob.py STORE SEEN     SEEN: a directory that gets a file for each task
"""

import json
import sys
import time
import uuid
from pathlib import Path

from pyspark.sql import functions as fn

import storefmt
from mqspark.frames import commitlog
from mqspark.sessions import session


def main(store: str, seen: str) -> None:
    """Print the counts as JSON, and where the workers found our code."""
    spark = session("local[1]")
    frame = commitlog(spark, store, columns=["log_offset"], options={"splitBytes": "120000"})

    # Not ``mapInArrow``, for which Spark asks for pandas.
    def slowly(rows):
        import storefmt as there
        from storefmt.arrow import columns

        Path(seen, uuid.uuid4().hex).touch()
        time.sleep(0.3)
        for row in rows:
            yield row.log_offset, there.__file__, columns.has_kernel()

    slow = frame.rdd.mapPartitions(slowly).toDF("offset long, code string, kernel boolean")
    counted = slow.agg(
        fn.count("*").alias("rows"),
        fn.countDistinct("offset").alias("distinct"),
        fn.min("code").alias("code"),
        fn.min("kernel").alias("kernel"),
    )
    row = counted.first()
    print(json.dumps({**row.asDict(), "driver": storefmt.__file__}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
