"""A job as a process: the words that it takes, and what it tells whoever started it.

    JOB PLACE… --engine --master --option --explain --dry-run --parquet
      --> standard output: rows as JSON lines, and nothing else
      --> standard error:  {"ui": …}  {"progress": [done, all]} in tasks  {"plan": …}  {"hint": …}
                           and at the end {"error": …}, {"damage": N} for parts of a store that
                           were skipped, or {"exit": N} for a verdict

Rule: errors of ours and of Spark are told in one line, with the exit code of their class; any
other is a bug and keeps its traceback.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pipeline.errors import BadOption
from pipeline.watching import cause_of, page_of, watched

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENGINES: Final = ("spark", "local")
LOCAL_SIZE: Final = 20 << 30
"""Bytes of data of one machine below which Spark's start (some 10 s) is the larger part."""


def parser_of(prog: str, description: str | None, jobs: Iterable[str]) -> argparse.ArgumentParser:
    """Return the parser of a job's words; its places are for the caller to add."""
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("job", choices=list(jobs))
    parser.add_argument("--engine", choices=ENGINES, default="spark")
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--explain", action="store_true", help="tell the plan, then run it")
    parser.add_argument("--dry-run", action="store_true", help="run nothing")
    parser.add_argument("--parquet", type=Path, help="also write the rows to this file")
    return parser


def given_options(options: argparse.Namespace) -> dict[str, str]:
    """Return what ``--option`` says, by name."""
    return dict(text.partition("=")[::2] for text in options.option)


def exit_code_of(error: Exception) -> int:
    """Return the exit code of the class of an error; 1 where it has none."""
    return int(getattr(error, "exit_code", 1))


def ended(
    run: Callable[[], None],
    *,
    known: tuple[type[Exception], ...],
    exit_code: Callable[[Exception], int] = exit_code_of,
) -> int:
    """Run a job to its end and return the exit code; what went wrong is told.

    Args:
        known: errors whose text is for people.
        exit_code: of one of them.
    """
    try:
        run()
    except known as error:
        say({"error": str(error)})
        return exit_code(error)
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise
        say({"error": cause_of(error)})
        return 1
    return 0


def hint_at_local(master: str, size: int) -> None:
    """Tell where the local engine is faster: one machine, and so many bytes that Spark's start
    takes longer than it gains."""
    if master.startswith("local") and size < LOCAL_SIZE:
        say(
            {
                "hint": f"{size / (1 << 30):.1f} GiB on one machine: --engine local gives the same "
                f"and is faster below {LOCAL_SIZE >> 30} GiB"
            }
        )


@contextmanager
def told(spark: "SparkSession") -> Iterator[None]:
    """Tell where Spark shows the job, and how far it is, while the block runs."""
    if page := page_of(spark):
        say({"ui": page})
    with watched(spark, lambda done, total: say({"progress": [done, total]})):
        yield


def check_file(path: Path | None) -> None:
    """Refuse a file that could not be written once the job is done.

    Raises:
        BadOption: it is a directory, or lies in none.
    """
    if path is None:
        return
    if path.is_dir():
        raise BadOption(f"--parquet: {path} is a directory, expected a file to write")
    if not path.parent.is_dir():
        raise BadOption(f"--parquet {path}: there is no directory {path.parent}; make it first")


def write_parquet(table: Any, path: Path) -> None:
    """Write an Arrow table to a file."""
    # Only asked for now and then.
    import pyarrow.parquet as pq

    pq.write_table(table, path, compression="zstd")


def say(what: dict[str, object]) -> None:
    """Tell one thing on standard error."""
    print(json.dumps(what), file=sys.stderr, flush=True)
