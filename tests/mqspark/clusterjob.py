"""The job that the tests of the cluster submit: a slow count over a store.

spark-submit … clusterjob.py STORE SEEN     SEEN: a directory that gets a file for each task
"""

import json
import sys
import time
import uuid
from pathlib import Path

import pyarrow as pa
from pyspark.sql import functions as fn

import storefmt
from mqspark.frames import commitlog
from mqspark.sessions import session


def main(store: str, seen: str) -> None:
    """Print the counts as JSON, and where the workers found our code."""
    spark = session("local[1]")
    frame = commitlog(spark, store, columns=["log_offset"], options={"splitBytes": "120000"})

    def slowly(batches):
        import storefmt as there
        from storefmt.arrow import columns

        for batch in batches:
            Path(seen, uuid.uuid4().hex).touch()
            time.sleep(0.3)
            count = batch.num_rows
            code = pa.array([there.__file__] * count, pa.string())
            kernel = pa.array([columns.has_kernel()] * count, pa.bool_())
            arrays = [batch.column("log_offset"), code, kernel]
            yield pa.RecordBatch.from_arrays(arrays, names=["offset", "code", "kernel"])

    counted = frame.mapInArrow(slowly, "offset long, code string, kernel boolean").agg(
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
