"""A job as a process: its arguments, and the lines that it prints for its parent process.

    JOB PLACE… --engine --master --option --explain --dry-run --parquet
      --> standard output: rows as JSON lines, and nothing else
      --> standard error:  {"ui": …}  {"progress": [done, all]} in tasks  {"plan": …}  {"hint": …}
                           and at the end {"error": …}, {"damage": N} for parts of a store that
                           were skipped, or {"exit": N} for a verdict

Rule: errors of ours and of Spark are printed in one line, and end the process with the exit code of
their class; any other error is a bug and keeps its traceback.
"""

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mqspark.cli.watching import cause_of, page_of, watch_progress
from mqspark.errors import BadOption
from mqspark.sessions import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AUTO, SPARK, LOCAL = "auto", "spark", "local"
THIS_MACHINE: Final = "local[*]"
LOCAL_SIZE: Final = 20 << 30
"""Below this size of data in bytes, Spark's start (some 10 s) takes most of the time of a job."""


def parser_of(
    prog: str, description: str | None, jobs: Collection[str], *, engine: str = SPARK
) -> argparse.ArgumentParser:
    """Return the parser of a job's arguments, to which the caller adds the places.

    Args:
        engine: the default; with ``auto`` the engine follows from the size of the data.
    """
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("job", choices=list(jobs), metavar="JOB", help=f"one of {', '.join(jobs)}")
    parser.add_argument(
        "--engine",
        choices=[AUTO, SPARK, LOCAL] if engine == AUTO else [SPARK, LOCAL],
        default=engine,
        help="where the job runs: on Spark, or in this process (local); auto chooses by --master "
        "and the size of the data (default: %(default)s)",
    )
    parser.add_argument(
        "--master", help="where Spark runs, such as local[2] or spark://H:7077; else this machine"
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set an option of the job; may be given several times",
    )
    parser.add_argument("--explain", action="store_true", help="print the plan before the job runs")
    parser.add_argument("--dry-run", action="store_true", help="check the arguments, run nothing")
    parser.add_argument(
        "--until-stdin-closes",
        action="store_true",
        help="end at once when standard input closes: the process that holds it open is gone",
    )
    parser.add_argument("--parquet", type=Path, help="also write the rows to this Parquet file")
    return parser


def given_options(options: argparse.Namespace) -> dict[str, str]:
    """Return the values of ``--option`` by name."""
    return dict(text.partition("=")[::2] for text in options.option)


def exit_code_of(error: Exception) -> int:
    """Return the exit code of the class of an error, 1 if it has none."""
    return int(getattr(error, "exit_code", 1))


def run_to_end(
    run: Callable[[], None],
    *,
    expected: tuple[type[Exception], ...],
    exit_code: Callable[[Exception], int] = exit_code_of,
) -> int:
    """Run a job to its end, print an error, and return the exit code.

    Args:
        run: the job.
        expected: the classes of errors whose text is for people.
        exit_code: returns the exit code of one of these errors.
    """
    try:
        run()
    except expected as error:
        print_message({"error": "; ".join([str(error), *getattr(error, "__notes__", ())])})
        return exit_code(error)
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise
        print_message({"error": cause_of(error)})
        return 1
    return 0


def arguments_of(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments of a job, which from now on ends when they say so."""
    options = parser.parse_args(argv)
    if options.until_stdin_closes:
        end_with_stdin()
    return options


def end_with_stdin() -> None:
    """End this process by SIGTERM once its standard input closes.

    Spark's JVM ends with this process, since its own standard input closes then.
    """

    def watch() -> None:
        while os.read(sys.stdin.fileno(), 1 << 16):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="standard input", daemon=True).start()


def choose_engine(size: int, *, master: str | None, submitted: bool) -> tuple[str, str]:
    """Return the engine for a job over ``size`` bytes of data, and a sentence that says why.

    Args:
        master: where the user wants Spark to run, if they said so.
        submitted: spark-submit has started this process.
    """
    data = f"{size / (1 << 30):.1f} GiB of log"
    if submitted:
        return SPARK, "engine spark: spark-submit started this job"
    if master is not None:
        text = f"engine spark: --master is {master}"
        if master.startswith("local") and size < LOCAL_SIZE:
            text += f"; --engine local gives the same and is faster for {data}"
        return SPARK, text
    if size < LOCAL_SIZE:
        return LOCAL, (
            f"engine local: {data} on one machine; Spark's start takes longer than it saves "
            f"below {LOCAL_SIZE >> 30} GiB (--engine spark runs the job there)"
        )
    return SPARK, f"engine spark: {data}, above the {LOCAL_SIZE >> 30} GiB from which it is faster"


@contextmanager
def started_spark(master: str | None) -> Iterator["SparkSession"]:
    """Start Spark for the job of this block, and print at its end how long each of them took."""
    began_s = time.monotonic()
    spark = session(master or THIS_MACHINE, page=True)
    started_s = time.monotonic()
    yield spark
    job_s = time.monotonic() - started_s
    print_message(
        {"hint": f"Spark took {started_s - began_s:.1f} s to start and {job_s:.1f} s for the job"}
    )


@contextmanager
def show_progress(spark: "SparkSession") -> Iterator[None]:
    """Print the address of Spark's page, and the progress of the job, while the block runs."""
    if page := page_of(spark):
        print_message({"ui": page})
    with watch_progress(
        spark,
        lambda done_count, total: print_message({"progress": [done_count, total]}),
        warn=lambda text: print_message({"hint": text}),
    ):
        yield


def check_file(path: Path | None) -> None:
    """Check that a file can be written once the job is done.

    Raises:
        BadOption: it is a directory, or its directory does not exist.
    """
    if path is None:
        return
    if path.is_dir():
        raise BadOption(f"--parquet: {path} is a directory, expected a file to write")
    if not path.parent.is_dir():
        raise BadOption(f"--parquet {path}: there is no directory {path.parent}; make it first")


def write_parquet(table: Any, path: Path) -> None:
    """Write an Arrow table to a file."""
    # This is loaded here because it is rarely needed.
    import pyarrow.parquet as pq

    pq.write_table(table, path, compression="zstd")


def print_message(what: dict[str, object]) -> None:
    """Print one object on standard error, as a line of JSON."""
    print(json.dumps(what), file=sys.stderr, flush=True)
