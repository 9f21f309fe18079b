"""Streams of Spark that run to their end, also on a machine that is busy."""

from collections.abc import Callable
from typing import Any

from pyspark.errors import PySparkException

TRIES = 5


def run_to_end(start: Callable[[], Any]) -> Any:
    """Start a query, wait for its end, and return it.

    Spark gives the process that plans a stream ten seconds to start, which no setting changes. A
    busy machine needs more at times, so the query is started again.
    """
    for turn in range(TRIES):
        query = start()
        try:
            query.awaitTermination()
        except PySparkException as error:
            if turn == TRIES - 1 or "failed to connect back" not in str(error):
                raise
        else:
            return query
    raise AssertionError("unreachable")
