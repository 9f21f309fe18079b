"""``python -m pipeline JOB DIR…``: one job as a process, its rows as JSON lines.

This is what ``mqadmin pipeline`` starts, and what ``spark-submit`` may be given. Standard
output has rows and nothing else. Standard error has lines for whoever started it:
``{"ui": …}``, ``{"progress": [done, all]}`` in tasks, ``{"plan": …}``, and at the end
``{"error": …}``, or ``{"damage": N}`` when part of the store was skipped, or ``{"exit": N}``
for a verdict.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.errors import BadOption, PipelineError
from pipeline.registry import JOBS, Job, as_plain, options_of
from pipeline.session import session
from pipeline.tables import DAMAGE, Reading, default_columns, plan, read
from pipeline.watching import cause_of, page_of, plan_of, watched
from storefmt.errors import BadCall, NotAStore, NotInStore, StoreError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENGINES = ("spark", "local")
EXIT_USAGE = 2
EXIT_NOT_FOUND = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run one job and return the exit code."""
    options = _parser().parse_args(argv)
    try:
        given = options_of(options.job, dict(text.partition("=")[::2] for text in options.option))
        _check_stores(options.directories, JOBS[options.job])
        _run(options, given)
    except (PipelineError, StoreError, OSError) as error:
        _say({"error": str(error)})
        return _exit_code(error)
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise
        _say({"error": cause_of(error)})
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pipeline", description=__doc__)
    parser.add_argument("job", choices=list(JOBS))
    parser.add_argument("directories", nargs="+", metavar="DIR")
    parser.add_argument("--engine", choices=ENGINES, default="spark")
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--explain", action="store_true", help="tell the plan, then run it")
    parser.add_argument("--dry-run", action="store_true", help="run nothing")
    parser.add_argument("--parquet", type=Path, help="also write the rows to this file")
    return parser


def _check_stores(directories: Sequence[str], job: Job) -> None:
    # What is no store is told before Spark takes its seconds to start.
    if not job.many and len(directories) > 1:
        raise BadOption(f"this job takes one store, not {len(directories)}")
    for directory in directories:
        plan(Path(directory))


def _run(options: argparse.Namespace, given: dict[str, Any]) -> None:
    job = JOBS[options.job]
    where = options.directories if job.many else options.directories[0]
    if options.engine == "local":
        if options.explain:
            _say({"plan": f"{options.job}: here, in this process, part after part of the store"})
        if options.dry_run:
            return
        table = job.local(where, **given)
    else:
        spark = session(options.master, page=True)
        if options.explain:
            steps = job.steps(where)
            _say({"plan": steps or plan_of(job.spark(spark, where, **given))})
        if options.dry_run:
            return
        table = _watched(spark, lambda: job.spark(spark, where, **given).toArrow())
    if options.parquet is not None:
        _write(table, options.parquet)
    rows = job.rows_of(table, **given)
    for row in rows:
        print(json.dumps(as_plain(row)))
    if exit_code := job.exit_code(rows):
        _say({"exit": exit_code})
    elif job.passes_damage:
        skipped = sum(_damage_count(Path(directory)) for directory in options.directories)
        if skipped:
            _say({"damage": skipped})


def _watched(spark: "SparkSession", run: Callable[[], Any]) -> Any:
    if page := page_of(spark):
        _say({"ui": page})
    with watched(spark, lambda done, total: _say({"progress": [done, total]})):
        return run()


def _write(table: Any, path: Path) -> None:
    # Only asked for now and then.
    import pyarrow.parquet as pq

    pq.write_table(table, path, compression="zstd")


def _damage_count(directory: Path) -> int:
    """Count the places that were skipped; a walk of sizes, much cheaper than the job."""
    reading = Reading(table=DAMAGE, columns=default_columns(DAMAGE))
    return sum(
        batch.num_rows for split in plan(directory, reading) for batch in read(split, reading)
    )


def _exit_code(error: Exception) -> int:
    if isinstance(error, NotAStore | NotInStore):
        return EXIT_NOT_FOUND
    if isinstance(error, BadCall):
        return EXIT_USAGE
    return int(getattr(error, "exit_code", 1))


def _say(what: dict[str, object]) -> None:
    print(json.dumps(what), file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
