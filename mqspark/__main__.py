"""``python -m mqspark JOB DIR…``: one job over stores as a process, its rows as JSON lines.

This is what ``mqadmin pipeline`` starts, and what ``spark-submit`` may be given; words and
lines are those of ``mqspark.cli.process``.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import Final

from mqspark.cli.process import (
    AUTO,
    LOCAL,
    arguments_of,
    check_file,
    choose_engine,
    exit_code_of,
    given_options,
    parser_of,
    print_message,
    run_to_end,
    show_progress,
    started_spark,
    write_parquet,
)
from mqspark.cli.registry import JOBS, options_of
from mqspark.cli.watching import plan_of
from mqspark.errors import PipelineError
from mqspark.frames import damage
from mqspark.sessions import SUBMITTED
from mqspark.shipping import without_kernels
from mqspark.sources.store.skipped import collect_notes
from mqspark.sources.store.spread import context_of
from mqspark.sources.store.stores import stores_of
from mqspark.sources.store.tables import plan
from storefmt.errors import BadCall, NotAStore, NotInStore, StoreError

DESCRIPTION: Final = (
    "Run one job over store directories and print its rows as lines of JSON. Progress, hints and "
    "errors are printed on standard error. `mqadmin pipeline JOB -h` lists the options of a job."
)
EXIT_USAGE = 2
EXIT_NOT_FOUND = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run one job and return the exit code."""
    parser = parser_of("python -m mqspark", DESCRIPTION, JOBS, engine=AUTO)
    parser.add_argument(
        "directories",
        nargs="+",
        metavar="DIR",
        help="a store directory or its URI, or a pattern of several",
    )
    options = arguments_of(parser, argv)
    return run_to_end(
        lambda: _run_job(options),
        expected=(PipelineError, StoreError, OSError),
        exit_code=_exit_code,
    )


def _run_job(options: argparse.Namespace) -> None:
    job = JOBS[options.job]
    chosen = options_of(options.job, given_options(options))
    check_file(options.parquet)
    where = stores_of(options.directories)
    # A directory that is not a store is reported before Spark takes its seconds to start.
    log_size = sum(split.end - split.start for path in where for split in plan(path))
    engine = options.engine
    if engine == AUTO:
        submitted = SUBMITTED in os.environ
        engine, why = choose_engine(log_size, master=options.master, submitted=submitted)
        print_message({"hint": why})
    if engine == LOCAL:
        if options.explain:
            print_message(
                {"plan": f"{options.job}: here, in this process, part after part of the store"}
            )
        if options.dry_run:
            return
        with collect_notes() as skipped:
            table = job.local(where, **chosen)
        skipped_count = skipped.count()
    else:
        with started_spark(options.master) as spark:
            if options.explain:
                steps = job.steps(where) or plan_of(job.spark(spark, where, **chosen))
                print_message({"plan": f"{options.job} of {', '.join(where)}\n{steps}"})
            if options.dry_run:
                return
            with show_progress(spark), collect_notes() as skipped:
                table = job.spark(spark, where, **chosen).toArrow()
            skipped_count = skipped.count()
            if job.passes_damage and context_of(spark) is None:
                # Workers of Spark Connect cannot tell, so they are asked to look.
                skipped_count = sum(damage(spark, store).count() for store in where)
    if slow := skipped.slow_hosts():
        print_message({"hint": without_kernels(slow)})
    if options.parquet is not None:
        write_parquet(table, options.parquet)
    rows = job.rows_of(table, **chosen)
    for row in rows:
        print(json.dumps(row))
    if exit_code := job.exit_code(rows):
        print_message({"exit": exit_code})
    elif job.passes_damage and skipped_count:
        print_message({"damage": skipped_count})


def _exit_code(error: Exception) -> int:
    if isinstance(error, NotAStore | NotInStore):
        return EXIT_NOT_FOUND
    if isinstance(error, BadCall):
        return EXIT_USAGE
    return exit_code_of(error)


if __name__ == "__main__":
    sys.exit(main())
