"""``python -m pipeline JOB DIR``: one job as a process, its rows as JSON lines.

This is what ``mqadmin pipeline`` starts. Standard output has rows and nothing else; the last
line of standard error is ``{"error": …}`` when it failed, or ``{"damage": N}`` when part of
the store was skipped.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from pipeline.errors import PipelineError
from pipeline.jobs.stats import TopicHour, rows_of, stats, stats_local
from pipeline.session import session
from pipeline.tables import DAMAGE, Reading, default_columns, plan, read
from storefmt.errors import NotAStore, StoreError

ENGINES = ("spark", "local")
EXIT_NOT_FOUND = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run one job and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m pipeline", description=__doc__)
    parser.add_argument("job", choices=["stats"])
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


def _run(options: argparse.Namespace) -> list[TopicHour]:
    if options.engine == "local":
        return rows_of(stats_local(options.directory))
    return rows_of(stats(session(options.master), options.directory).toArrow())


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
