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

from pipeline.errors import BadOption, PipelineError
from pipeline.jobs import duplicates, grep, lag, stats
from pipeline.session import session
from pipeline.tables import DAMAGE, Reading, default_columns, plan, read
from storefmt.errors import NotAStore, StoreError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Row(Protocol):
    """A row of a job, a named tuple."""

    def _asdict(self) -> dict[str, Any]: ...


class Job(NamedTuple):
    """One job: a frame with Spark, a table without, and its rows; each takes its options."""

    spark: Callable[..., "DataFrame"]
    local: Callable[..., Any]
    rows_of: Callable[..., Sequence[Row]]
    options: tuple[str, ...] = ()


JOBS: Final = {
    "stats": Job(stats.stats, stats.stats_local, stats.rows_of),
    "duplicates": Job(duplicates.duplicates, duplicates.duplicates_local, duplicates.rows_of),
    "lag": Job(lag.lag, lag.lag_local, lag.rows_of),
    "grep": Job(grep.grep, grep.grep_local, grep.rows_of, ("pattern",)),
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
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
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
    given = _given(job, options)
    if options.engine == "local":
        return job.rows_of(job.local(options.directory, **given), **given)
    frame = job.spark(session(options.master), options.directory, **given)
    return job.rows_of(frame.toArrow(), **given)


def _given(job: Job, options: argparse.Namespace) -> dict[str, str]:
    """Return the job's options; raises BadOption for one it has not, or that is missing."""
    given = dict(text.partition("=")[::2] for text in options.option)
    if set(given) != set(job.options):
        raise BadOption(
            f"job {options.job} takes the options {', '.join(job.options) or '(none)'}, "
            f"not {', '.join(given) or '(none)'}"
        )
    return given


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
