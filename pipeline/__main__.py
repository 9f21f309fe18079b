"""``python -m pipeline JOB DIR``: one job as a process, its rows as JSON lines.

This is what ``mqadmin pipeline`` starts. Standard output has rows and nothing else; the last
line of standard error is ``{"error": …}`` when it failed, or ``{"damage": N}`` when part of
the store was skipped.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from pipeline.errors import PipelineError
from pipeline.jobs import duplicates, lag, stats
from pipeline.session import session
from pipeline.tables import DAMAGE, Reading, default_columns, plan, read
from storefmt.errors import NotAStore, StoreError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Row(Protocol):
    """A row of a job, a named tuple."""

    def _asdict(self) -> dict[str, Any]: ...


class Job(NamedTuple):
    """One job: a frame with Spark, a table without, and its rows."""

    spark: Callable[["SparkSession", str], "DataFrame"]
    local: Callable[[str], Any]
    rows_of: Callable[[Any], Sequence[Row]]


JOBS: Final = {
    "stats": Job(stats.stats, stats.stats_local, stats.rows_of),
    "duplicates": Job(duplicates.duplicates, duplicates.duplicates_local, duplicates.rows_of),
    "lag": Job(lag.lag, lag.lag_local, lag.rows_of),
}
ENGINES = ("spark", "local")
EXIT_NOT_FOUND = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run one job and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m pipeline", description=__doc__)
    parser.add_argument("job", choices=list(JOBS))
    parser.add_argument("directory")
    parser.add_argument("--engine", choices=ENGINES, default="spark")
    parser.add_argument("--master", default="local[*]")
    options = parser.parse_args(argv)
    try:
        # What is no store is told before Spark takes its seconds to start.
        plan(Path(options.directory))
        for row in _run(options):
            print(json.dumps(row._asdict()))
        skipped = _damage_count(Path(options.directory))
    except (PipelineError, StoreError, OSError) as error:
        exit_code = getattr(error, "exit_code", 1)
        if isinstance(error, NotAStore):
            exit_code = EXIT_NOT_FOUND
        _say({"error": str(error)})
        return exit_code
    if skipped:
        _say({"damage": skipped})
    return 0


def _run(options: argparse.Namespace) -> Sequence[Row]:
    job = JOBS[options.job]
    if options.engine == "local":
        return job.rows_of(job.local(options.directory))
    return job.rows_of(job.spark(session(options.master), options.directory).toArrow())


def _damage_count(directory: Path) -> int:
    """Count the places that were skipped; a walk of sizes, much cheaper than the job."""
    reading = Reading(table=DAMAGE, columns=default_columns(DAMAGE))
    return sum(
        batch.num_rows for split in plan(directory, reading) for batch in read(split, reading)
    )


def _say(what: dict[str, object]) -> None:
    print(json.dumps(what), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
