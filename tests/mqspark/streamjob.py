"""A Structured Streaming query in a process of its own, to be killed.

Its argument is JSON with ``namesrv``, ``topic``, ``checkpoint``, and either ``out``, a directory
for Parquet files, or ``target``, a topic; ``master`` may say where Spark runs. The process ends
when everything has been read.
"""

import json
import sys

from mqspark import session

BATCH = 15
"""The messages of a batch."""


def main(given: dict[str, str]) -> None:
    """Run the query to its end."""
    spark = session(given.get("master", "local[2]"))
    source = spark.readStream.format("rocketmq").options(
        namesrv=given["namesrv"],
        subscribe=given["topic"],
        startingOffsets="earliest",
        maxOffsetsPerTrigger=str(BATCH),
        timeoutMs="60000",
        columns="queue_id,queue_offset,msg_id,body" if "out" in given else "body",
    )
    writer = source.load().writeStream.trigger(availableNow=True)
    writer = writer.option("checkpointLocation", given["checkpoint"])
    if "out" in given:
        query = writer.format("parquet").start(given["out"])
    else:
        sink = {"namesrv": given["namesrv"], "topic": given["target"], "dedup": "true"}
        query = writer.format("rocketmq").options(**sink, timeoutMs="60000").start()
    query.awaitTermination()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
