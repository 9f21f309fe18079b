"""The program that the tests of a fleet submit: jobs by name and options, in one session.

spark-submit … fleetjob.py STEPS      STEPS: a file, see ``main``
"""

import json
import sys
from pathlib import Path

from mqspark.cli.registry import JOBS, options_of
from mqspark.sessions import session


def main(file: str) -> None:
    """Print a line of JSON with the rows of each step.

    Args:
        file: a JSON list of ``[job, stores, options]``.
    """
    spark = session("local[1]")
    for name, stores, options in json.loads(Path(file).read_text()):
        job, chosen = JOBS[name], options_of(name, options)
        rows = job.rows_of(job.spark(spark, stores, **chosen).toArrow(), **chosen)
        print(json.dumps(rows, default=str), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
